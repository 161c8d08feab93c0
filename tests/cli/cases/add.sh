# add: new keys, old keys, nothing at all, too many.
seq 1000 >keys
perhaps create -q -n 2000 f.filter
show perhaps add f.filter keys
cp f.filter before
show perhaps add f.filter keys
cmp f.filter before && echo adding a key twice changes nothing
seq 1001 1010 | show perhaps add f.filter
seq 1011 1020 | show perhaps add -q f.filter
seq 1021 1030 | show perhaps add f.filter keys - keys
perhaps check -c f.filter keys
seq 1021 1030 | perhaps check -c f.filter
show perhaps add f.filter /dev/null
printf 'x\0y' | show perhaps add --null-data --no-progress --no-wait f.filter
printf 'one\r\n' | show perhaps add --crlf f.filter
echo one | show perhaps check f.filter
seq 3000 9000 | show perhaps add f.filter
seq 9001 9010 | show perhaps add f.filter --quiet
ln -s f.filter link.filter
echo through a link | show perhaps add link.filter
echo through a link | show perhaps check f.filter
find . -type l
chmod 640 f.filter
echo permissions stay | perhaps add -q f.filter
stat -c %a f.filter
