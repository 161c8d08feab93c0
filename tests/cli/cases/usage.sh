refuse perhaps
refuse perhaps crate
refuse perhaps chekc
refuse perhaps merg f
refuse perhaps frobnicate
refuse perhaps ''
refuse perhaps $'new\nline'
refuse perhaps help frobnicate
refuse perhaps --frobnicate
refuse perhaps -x
refuse perhaps --generate
refuse perhaps --generate nothing
refuse perhaps create
refuse perhaps create --frobnicate x.filter
refuse perhaps create -x x.filter
refuse perhaps create x.filter -n
refuse perhaps create x.filter --capacity
refuse perhaps create --force=yes x.filter
refuse perhaps create --no x.filter
refuse perhaps create -v x.filter
refuse perhaps info
refuse perhaps info a b
refuse perhaps verify -- -x
refuse perhaps info $'a\nb\x1b[31m\xff\xc2\x9b'
# Long options may be cut short as long as they are unambiguous.
show perhaps create --cap 10 --qui x.filter
show perhaps verify --qu x.filter
