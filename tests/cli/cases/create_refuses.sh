# Every number that is none, and everything that cannot be made.
echo key >keys
perhaps create -q -n 5 there.filter
for n in 0 abc '' -5 1.5 ' 5' 5x 5KiB 0x10 1e6 99999999999999999999 18446744073709551616 19000000T \
    18446744073709551615 1000000T 100T; do
    refuse perhaps create -n "$n" x.filter keys
done
for p in 0 1 -1 NaN nan inf abc '' 0x1p-3 0,1 0.6 1e-10 1e-400 '0.1 ' 1% 2 .; do
    refuse perhaps create -n 100 -p "$p" x.filter keys
done
refuse perhaps create -p 0.6 x.filter keys
for bytes in 0 abc -1 1.5M 99999999999T; do
    refuse perhaps create -n 100 --bytes "$bytes" x.filter keys
done
refuse perhaps create -n 1M --bytes 10 x.filter keys
refuse perhaps create -n 10 -p 0.1 --bytes 10 x.filter keys
for seed in x -1 0x '' 1k 18446744073709551616; do
    refuse perhaps create -n 100 --seed "$seed" x.filter keys
done
refuse perhaps create -n 100 --kind magic x.filter keys
refuse perhaps create -n 100 --metadata "$(head -c 65537 /dev/zero | tr '\0' x)" x.filter keys
refuse perhaps create -n 100 there.filter keys
refuse perhaps create -n 100 - keys
refuse perhaps create -n 100 '' keys
refuse perhaps create ''
refuse perhaps create -n 100 . keys
refuse perhaps create -n 100 -f /dev/null keys
refuse perhaps create -n 100 no/such/directory.filter keys
refuse perhaps create -n 100 /proc/x.filter keys
refuse perhaps create -n 100 keys/x.filter keys
refuse perhaps create -n 100 "$(head -c 300 /dev/zero | tr '\0' x)" keys
refuse perhaps create -n 100 -f there.filter keys missing
refuse perhaps create -f there.filter keys missing
refuse perhaps create -f there.filter .
