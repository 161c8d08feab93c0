# remove: by kind, what it says, and the exit status.
seq 1000 >keys
(seq 991 1000; seq 2001 2003) >some
for kind in counting cuckoo; do
    perhaps create -qf --kind $kind -n 2000 -p 1e-6 f.filter keys
    cp f.filter before
    show perhaps remove f.filter some
    show perhaps check -c f.filter keys
    cp f.filter after
    show perhaps remove f.filter some
    cmp f.filter after && echo a key that is not there changes nothing
    show perhaps remove -v f.filter some - <keys
    show perhaps check -q f.filter keys
    perhaps info f.filter | grep -e 'adds:' -e copies -e removals -e fill -e load -e maximum
    show perhaps add -q f.filter keys
    show perhaps check -c f.filter keys
    show perhaps add f.filter keys
    show perhaps remove f.filter keys
    show perhaps check -c f.filter keys
    show perhaps remove --json f.filter some
    show perhaps remove --json -v f.filter some
    show perhaps remove -q f.filter some
    seq 10 | show perhaps remove --quiet f.filter
    seq 11 20 | show perhaps remove -v --no-wait --no-progress f.filter
    printf '21\0no\nline\0' | perhaps remove -vqz f.filter | od -c
    printf '22\r\nabsent\r\n' | perhaps remove -vq --crlf f.filter | od -c
    show perhaps remove f.filter /dev/null
    seq 500 | show perhaps check -c f.filter
    chmod 640 f.filter
    seq 30 31 | perhaps remove -q f.filter
    stat -c %a f.filter
    refuse perhaps remove f.filter keys missing
    refuse perhaps remove f.filter .
    head -c 200 f.filter >cut.filter
    refuse perhaps remove cut.filter keys
done
# A key added more often than a counter counts stays for ever; 20 adds and 15 removes leave it there anyway.
perhaps create -qf --kind counting -n 100 f.filter
(for i in $(seq 20); do echo often; done) | perhaps add -q f.filter
(for i in $(seq 15); do echo often; done) | show perhaps remove f.filter
echo often | show perhaps count f.filter
# Filters without remove.
perhaps create -q bloom.filter keys
perhaps create -q --kind blocked blocked.filter keys
perhaps create -q --kind cuckoo --policy unique unique.filter keys
perhaps create -q --kind counting --policy conservative conservative.filter keys
for kind in bloom blocked unique conservative; do refuse perhaps remove $kind.filter some; done
refuse perhaps remove missing.filter keys
refuse perhaps remove . keys
refuse perhaps remove - keys
refuse perhaps remove keys keys
refuse perhaps remove /dev/null keys
refuse perhaps remove no/such/f.filter keys
refuse perhaps remove -f f.filter keys
refuse perhaps remove
