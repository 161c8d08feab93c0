# A journal beside the filter: what add and remove do goes there, and all commands see it.
seq 1000 >keys
show perhaps create -n 2000 --journal f.filter keys
ls -- *
cp f.filter before
seq 1001 1010 | show perhaps add f.filter
cmp f.filter before && echo the filter is what it was
seq 1001 1010 | show perhaps check -c f.filter
seq 1011 1020 | show perhaps add -q f.filter
show perhaps info f.filter
echo 1021 | show perhaps add --json f.filter
show perhaps verify f.filter
seq 1021 | perhaps check -c f.filter
perhaps info --json f.filter | grep -o '"journal":{[^}]*}'
show perhaps add --journal f.filter /dev/null
# a filter that had none
perhaps create -q --kind counting -n 100 c.filter
cp c.filter plain.filter
printf 'a\nb\nb\n' | show perhaps add --journal c.filter
printf 'b\nb\nx\n' | show perhaps remove -v c.filter
printf 'b\n' | show perhaps count c.filter
printf 'a\nb\nb\n' | perhaps add -q plain.filter
printf 'b\nb\nx\n' | perhaps remove -q plain.filter
show perhaps convert -q --kind bloom -o c.bloom c.filter
show perhaps convert -q --kind bloom -o plain.bloom plain.filter
cmp c.bloom plain.bloom && echo converted: without a journal, and with all that is in it
printf 'c\n' | perhaps add -q c.filter
printf 'c\n' | perhaps add -q plain.filter
show perhaps merge -q -o m.filter c.filter plain.filter
# one that can be full, looked at
perhaps create -q --kind cuckoo -n 10 --journal k.filter
seq 12 | show perhaps add -q k.filter
seq 100 | show perhaps add -v k.filter | tail -n 3
show perhaps verify k.filter
# through a link
ln -s f.filter link.filter
echo through a link | show perhaps add link.filter
echo through a link | show perhaps check f.filter
ls -- *.journal
# what does not belong together
cp f.filter copy.filter
refuse perhaps check copy.filter keys
refuse perhaps add copy.filter keys
refuse perhaps info copy.filter
refuse perhaps verify copy.filter
cp c.filter.journal copy.filter.journal
refuse perhaps check copy.filter keys
refuse perhaps add copy.filter keys
refuse perhaps create -f -n 10 f.filter
rm copy.filter copy.filter.journal
show perhaps create -q -n 1000 --journal copy.filter keys
refuse perhaps merge -f -o f.filter before before
# damage, and what a crash leaves
cp f.filter.journal journal
printf x | dd of=f.filter.journal bs=1 seek=100 conv=notrunc status=none
refuse perhaps check f.filter keys
refuse perhaps add f.filter keys
show perhaps verify --json f.filter
cp journal f.filter.journal
cp f.filter whole
printf x | dd of=f.filter bs=1 seek=1000 conv=notrunc status=none
show perhaps verify --json f.filter
cp whole f.filter
head -c -5 journal >f.filter.journal
show perhaps verify f.filter
echo through a link | show perhaps check -c f.filter
echo more | show perhaps add f.filter
printf 'more\n1\n' | show perhaps check f.filter
rm f.filter f.filter.journal
# folding: the journal exceeds its limit
perhaps create -q -n 1000 --journal g.filter
seq 140000 | show perhaps add g.filter
show perhaps info g.filter | grep journal
show perhaps check -c g.filter keys
# a secret key
head -c 16 /dev/zero | tr '\0' k >key
chmod 600 key
perhaps create -q --key-file key -n 100 --journal s.filter
echo x | refuse perhaps add s.filter
echo x | show perhaps add --key-file key s.filter
echo x | show perhaps check --key-file key s.filter
show perhaps verify s.filter
