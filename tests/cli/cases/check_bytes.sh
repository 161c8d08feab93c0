# Keys are bytes: ends of lines, NUL, empty keys, one-byte keys, what is no UTF-8.
printf 'one\ntwo\r\n\nthree' >lines
perhaps create -q -p 1e-6 f.filter lines
perhaps check f.filter lines | od -c
printf 'one\r\ntwo\n\n' | perhaps check -n f.filter | od -c
printf 'one\r\ntwo\n\r\n' | perhaps check -n --crlf f.filter | od -c
printf '\n' | perhaps check f.filter | od -c
printf '' | show perhaps check f.filter
printf 'absent' | perhaps check -v f.filter | od -c
printf 'a\nb\0\0c\xff\r' >strings
perhaps create -q -z -p 1e-6 z.filter strings
perhaps check -z z.filter strings | od -c
printf 'b\0a\0a\nb' | perhaps check -zn z.filter | od -c
perhaps check -z --json z.filter strings
for byte in a '\xff' '\x01' '\x00'; do printf "$byte\n"; done >bytes
perhaps create -q -p 1e-6 bytes.filter bytes
perhaps check bytes.filter bytes | od -An -c
perhaps check --json bytes.filter bytes
for length in 1 2 3 4; do head -c $length /dev/zero | tr '\0' '\200'; echo; done | perhaps check -v --json bytes.filter
