# Options that a kind does not have, and values that they do not take.
seq 10 >keys
for kind in bloom blocked cuckoo; do refuse perhaps create -n 100 --kind $kind --counter-bits 4 x.filter keys; done
for kind in bloom blocked counting; do
    refuse perhaps create -n 100 --kind $kind --slots 4 x.filter keys
    refuse perhaps create -n 100 --kind $kind --fingerprint-bits 12 x.filter keys
    refuse perhaps create -n 100 --kind $kind --search 100 x.filter keys
done
refuse perhaps create -n 100 --counter-bits 8 x.filter keys
refuse perhaps create -n 100 --policy multiset x.filter keys
refuse perhaps create -n 100 --kind blocked --policy unique x.filter keys
refuse perhaps create -n 100 --kind counting --policy unique x.filter keys
refuse perhaps create -n 100 --kind cuckoo --policy conservative x.filter keys
refuse perhaps create -n 100 --kind cuckoo --policy default x.filter keys
refuse perhaps create -n 100 --kind cuckoo --policy '' x.filter keys
for bits in 0 1 2 5 12 32 -4 4k x '' 18446744073709551620; do
    refuse perhaps create -n 100 --kind counting --counter-bits "$bits" x.filter keys
done
for slots in 0 3 16 -1 x ''; do refuse perhaps create -n 100 --kind cuckoo --slots "$slots" x.filter keys; done
for bits in 0 3 33 -1 x ''; do refuse perhaps create -n 100 --kind cuckoo --fingerprint-bits "$bits" x.filter keys; done
for search in 0 1 4097 -1 x ''; do refuse perhaps create -n 100 --kind cuckoo --search "$search" x.filter keys; done
refuse perhaps create -n 100 -p 0.01 --kind cuckoo --fingerprint-bits 5 x.filter keys
refuse perhaps create -p 0.01 --kind cuckoo --fingerprint-bits 5 x.filter keys
refuse perhaps create -n 100 -p 0.2 --kind cuckoo x.filter keys
refuse perhaps create -n 100 -p 1e-9 --kind cuckoo x.filter keys
refuse perhaps create -n 100 -p 0.6 --kind counting x.filter keys
refuse perhaps create -n 100 -p 1e-10 --kind counting x.filter keys
refuse perhaps create -n 1000000T --kind counting x.filter keys
refuse perhaps create -n 1000000T --kind cuckoo x.filter keys
refuse perhaps create -n 1M --bytes 64 --kind counting x.filter keys
refuse perhaps create -n 1M --bytes 64 --kind cuckoo x.filter keys
refuse perhaps size -n 100 -p 0.01 --kind bloom --counter-bits 8
refuse perhaps size -n 100 -p 0.01 --kind counting --slots 2
refuse perhaps size -n 100 -p 0.01 --kind cuckoo --highest-count 8
refuse perhaps size -n 100 -p 0.01 --counter-bits 7
refuse perhaps size -n 100 -p 0.01 --counter-bits 8 --highest-count 7
for count in -1 x '' 18446744073709551616; do refuse perhaps size -n 100 -p 0.01 --highest-count "$count"; done
refuse perhaps size --highest-count 7
refuse perhaps size -n 100 -p 0.01 --policy unique
refuse perhaps add --kind counting f.filter
