# Cuckoo filters: every option of create, and what the other commands do with them.
seq 1000 >keys
show perhaps create --kind cuckoo f.filter keys
for slots in 1 2 4 8; do
    show perhaps create --kind cuckoo --slots $slots -n 2000 -p 0.001 s$slots.filter keys
    perhaps check -c s$slots.filter keys
done
show perhaps create --kind cuckoo --slots 1 -q -n 2000 quiet.filter
show perhaps create --kind cuckoo --slots 1 -n 1 one.filter
show perhaps create --kind cuckoo --fingerprint-bits 16 -n 2000 wide.filter keys
show perhaps create --kind cuckoo --fingerprint-bits=32 --search 4096 --policy unique -n 2000 widest.filter keys
show perhaps create --kind cuckoo --bytes 64KiB -p 0.001 sized.filter
show perhaps create --kind cuckoo --bytes 2k bytes.filter keys
show perhaps create --kind cuckoo --policy multiset -q same.filter keys
cmp f.filter same.filter && echo the same bytes
show perhaps info f.filter
show perhaps info --json f.filter
perhaps info --json f.filter | python3 -m json.tool >/dev/null && echo JSON
show perhaps info widest.filter
(seq 100; seq 50; seq 10) >stream
perhaps create -q --kind cuckoo -n 1000 -p 1e-6 m.filter stream
printf '5\n50\n100\n1000\n' | show perhaps count m.filter
for times in 0 1 2 3 4; do
    printf '%s: ' $times
    perhaps check -c --at-least $times m.filter keys
done
# Without a size, repeated keys get room as well.
show perhaps create --kind cuckoo repeated.filter stream
show perhaps create --kind cuckoo --policy unique once.filter stream
for i in 1 2 3; do cat keys; done | show perhaps create --kind cuckoo often.filter
perhaps count often.filter keys | cut -f 2 | sort -n | uniq -c
show perhaps verify *.filter
# Two halves, and what does not fit.
seq 1001 2000 >others
perhaps create -q --kind cuckoo -n 2000 a.filter keys
perhaps create -q --kind cuckoo -n 2000 b.filter others
show perhaps merge -o ab.filter a.filter b.filter
cat keys others | show perhaps check -c ab.filter
seq 3001 5000 >more
perhaps create -q --kind cuckoo -n 2000 c.filter more
refuse perhaps merge -o x.filter ab.filter c.filter
refuse perhaps merge -o x.filter a.filter a.filter
perhaps create -q --kind cuckoo -n 2000 --policy unique u.filter keys
refuse perhaps merge -o x.filter a.filter u.filter
show perhaps merge -q -o uu.filter u.filter u.filter
perhaps info uu.filter | grep load
perhaps create -q --kind cuckoo -n 2000 --fingerprint-bits 16 w.filter keys
refuse perhaps merge -o x.filter a.filter w.filter
seq 3000 30000 >absent
show perhaps calibrate f.filter --present keys --absent absent
sqlite3 s.db 'CREATE TABLE t (k TEXT)'
seq 1000 | sqlite3 s.db '.import /dev/stdin t'
seq 990 1500 | show perhaps guard -q f.filter --store sqlite:s.db --table t --column k
