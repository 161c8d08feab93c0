umask 077
printf '000102030405060708090a0b0c0d0e0f' > hex
printf '000102030405060708090A0B0C0D0E0F\r\n' > crlf
printf '\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f' > raw
printf '0f0e0d0c0b0a09080706050403020100\n' > other
printf 'alice\nbob\n' > keys
printf 'alice\ncarol\nbob\n' > asked
show perhaps create --key-file hex -n 10 -p 0.01 a.filter keys
# The same key in every form, whether the size was given or the keys were counted.
show perhaps create --key-file raw -n 10 -p 0.01 b.filter keys
show cmp a.filter b.filter
show perhaps create --key-file crlf -q -n 10 -p 0.01 -f b.filter keys
show cmp a.filter b.filter
show perhaps create --key-file hex counted.filter keys
show perhaps create --key-file <(cat hex) -n 2 -p 0.01 -q piped.filter keys
show cmp counted.filter piped.filter
show perhaps check --key-file hex a.filter asked
show perhaps add --key-file raw a.filter asked
show perhaps check --key-file hex a.filter asked
show perhaps calibrate --key-file hex a.filter --present keys --absent <(seq 1000)
show perhaps merge --key-file hex -o m.filter a.filter b.filter
show perhaps create --key-file hex -n 10 -p 0.01 --kind counting c.filter asked
show perhaps count --key-file hex c.filter asked
show perhaps remove --key-file hex c.filter keys
show perhaps count --key-file hex c.filter asked
show perhaps convert --key-file hex --kind bloom -o d.filter c.filter
show perhaps check --key-file hex d.filter asked
sqlite3 s.db 'CREATE TABLE t (c TEXT PRIMARY KEY)' "INSERT INTO t VALUES ('alice')"
show perhaps guard -q --key-file hex a.filter --store sqlite:s.db --table t --column c asked
# Without the key: what it is, that it is whole, and nothing else.
show perhaps info a.filter
show perhaps info --json a.filter
show perhaps verify a.filter
show perhaps verify --json a.filter
show perhaps verify -q a.filter
show perhaps info --key-file hex a.filter
show perhaps info --key-file hex --json a.filter
show perhaps verify --key-file hex a.filter
show perhaps verify --key-file hex --json a.filter
refuse perhaps check a.filter asked
refuse perhaps add a.filter asked
refuse perhaps count c.filter asked
refuse perhaps remove c.filter asked
refuse perhaps calibrate a.filter --present keys --absent asked
refuse perhaps merge -o n.filter a.filter b.filter
refuse perhaps convert --kind bloom -o n.filter c.filter
refuse perhaps guard a.filter --store sqlite:none --table t --column c asked
# With another one.
refuse perhaps check --key-file other a.filter asked
refuse perhaps add --key-file other a.filter asked
refuse perhaps info --key-file other a.filter
refuse perhaps verify --key-file other a.filter
show perhaps verify --key-file other --json a.filter
# For a filter that has none.
perhaps create -q -n 10 plain.filter keys
refuse perhaps check --key-file hex plain.filter asked
refuse perhaps verify --key-file hex plain.filter
refuse perhaps merge --key-file hex -o n.filter a.filter plain.filter
perhaps create -q --key-file other -n 10 -p 0.01 o.filter keys
refuse perhaps merge --key-file hex -o n.filter a.filter o.filter
