seq 1 500 >a; seq 501 1000 >b; seq 400 600 >c; cat a b c >all
for name in a b c; do perhaps create -q -n 1000 --metadata "keys of $name" $name.filter $name; done
perhaps create -q -n 1000 all.filter all
show perhaps merge -o ab.filter a.filter b.filter
show perhaps merge a.filter b.filter c.filter --output=abc.filter
show perhaps check -c abc.filter all
perhaps info abc.filter | grep -e adds -e metadata
perhaps info all.filter | grep fill
perhaps info abc.filter | grep fill
show perhaps merge -q --no-wait -o quiet.filter a.filter b.filter
cmp ab.filter quiet.filter && echo the same bytes
refuse perhaps merge -o a.filter a.filter b.filter
show perhaps merge -f -o a.filter a.filter b.filter
show perhaps check -c a.filter all
seq 1001 5000 | perhaps add -q b.filter
show perhaps merge -o crowded.filter a.filter b.filter
perhaps create -q -n 2000 larger.filter a
perhaps create -q -n 1000 --seed 1 seed.filter a
perhaps create -q -n 1000 -p 0.02 rate.filter a
head -c 400 a.filter >cut.filter
refuse perhaps merge -o x.filter a.filter larger.filter
refuse perhaps merge -o x.filter a.filter seed.filter
refuse perhaps merge -o x.filter a.filter b.filter rate.filter
refuse perhaps merge -f -o a.filter a.filter b.filter missing.filter
refuse perhaps merge -f -o a.filter cut.filter b.filter
refuse perhaps merge -o x.filter a.filter
refuse perhaps merge -o x.filter
refuse perhaps merge a.filter b.filter
refuse perhaps merge -o - a.filter b.filter
refuse perhaps merge -f -o . a.filter b.filter
refuse perhaps merge -o no/such.filter a.filter b.filter
refuse perhaps merge -o x.filter - b.filter
perhaps create -q -n 1000 --kind blocked blocked.filter b
refuse perhaps merge -o x.filter a.filter blocked.filter
# Replicas that merge each other come to the highest number of adds: a key that is new then is kept all the same.
cp ab.filter one.filter
cp ab.filter two.filter
for _ in $(seq 45); do
  perhaps merge -q -f -o one.filter one.filter two.filter
  perhaps merge -q -f -o two.filter two.filter one.filter
done
echo new >new
show perhaps add one.filter new
show perhaps verify one.filter
show perhaps check -c one.filter new
