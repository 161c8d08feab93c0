# A failed add leaves the filter as it was.
seq 1000 >keys
perhaps create -q -n 1000 f.filter
refuse perhaps add missing.filter keys
refuse perhaps add f.filter keys missing
refuse perhaps add f.filter .
refuse perhaps add . keys
refuse perhaps add - keys
refuse perhaps add /dev/null keys
refuse perhaps add keys keys
refuse perhaps add no/such/f.filter keys
head -c 200 f.filter >cut.filter
refuse perhaps add cut.filter keys
mkfifo fifo
refuse perhaps add fifo keys
