show perhaps size -n 1000000 -p 0.01
show perhaps size -n 1M -p 0.01 --json
show perhaps size -n 1M --bytes 1MiB
show perhaps size --bytes 1GiB -p 1e-6
show perhaps size --bytes 1MB -n 10M --json
show perhaps size -n 1 -p 0.5
show perhaps size -n 1000G -p 0.01
show perhaps size -n 1M -p 0.4
show perhaps size -n 1M -p 0.4 --json
show perhaps size -n 10k -p 0.001 --kind bloom
for bytes in 1000 1k 1K 1kB 1KB 1KiB 1M 1MB 1MiB 1G 1GB 1GiB 1T 1TB 1TiB; do
    perhaps size --bytes $bytes -p 0.5 --kind bloom --json | grep -o '"bytes":[0-9]*'
done
refuse perhaps size
refuse perhaps size -n 5
refuse perhaps size -p 0.1
refuse perhaps size -n 5 -p 0.1 --bytes 5
refuse perhaps size -n 0 -p 0.1
refuse perhaps size -n 5 -p 1
refuse perhaps size -n 5 -p 0.6
refuse perhaps size -n 5 -p 1e-12
refuse perhaps size -n 5 --bytes 1
refuse perhaps size -n 1M --bytes 100
refuse perhaps size -n 1000000T -p 0.01
refuse perhaps size -n 5 -p 0.1 --kind magic
refuse perhaps size -n 5 -p 0.1 operand
# Kinds with options of their own.
show perhaps size -n 1M -p 0.01 --counter-bits 8 --slots 2
show perhaps size -n 1M -p 0.01 --kind cuckoo --slots 1
show perhaps size -n 1M -p 0.01 --kind cuckoo --slots 8 --fingerprint-bits 16
show perhaps size -n 1M -p 0.01 --kind counting --counter-bits 16 --json
show perhaps size -n 1M -p 0.01 --kind cuckoo --json
for count in 0 14 15 254 255 65534 65535 1T; do
    show perhaps size -n 1M -p 0.01 --kind counting --highest-count $count
done
show perhaps size -n 1M -p 0.01 --highest-count 100
