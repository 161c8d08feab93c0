# Every form and option of create.
seq 1000 >keys
show perhaps create -n 1000000 -p 0.01 million.filter
show perhaps create -n 1000000 -p 0.01 filled.filter keys
show perhaps create -n1k -p1e-3 short.filter keys keys
show perhaps create --capacity=1K --fpr 0.001 --force short.filter - <keys
show perhaps create counted.filter keys
show perhaps create stdin.filter <keys
cmp counted.filter stdin.filter && echo the same bytes
show perhaps create -n 1000 exact.filter keys
cmp counted.filter exact.filter && echo the same bytes
show perhaps create --bytes 64KiB -p 0.001 sized.filter
show perhaps create --bytes 1kB counted-for-bytes.filter keys
show perhaps create --bytes 1250 -n 1000 both.filter keys
show perhaps create quiet.filter -q keys
show perhaps create --kind bloom -q kind.filter keys
cmp quiet.filter kind.filter && echo the same bytes
show perhaps create --no-progress --no-wait -q options.filter -- keys
show perhaps create --metadata 'made by hand' -q metadata.filter keys
perhaps info metadata.filter | grep metadata
show perhaps create -n 5 -q ./-
perhaps verify ./-
printf 'a\0b\nc\0' | show perhaps create -z nul.filter
printf 'a\r\nb\r\n' | show perhaps create --crlf crlf.filter
printf 'a\r\nb\nc' | perhaps check crlf.filter | od -c
show perhaps create empty.filter </dev/null
perhaps check -c empty.filter keys
show perhaps create -n 10 crowded.filter keys
show perhaps create -n 10 -q -f crowded.filter keys
# Without KEYS but with a size, standard input is left alone.
(show perhaps create -n 5 -q untouched.filter; cat) <<<'still there'
