# A standard output that is closed or full.
seq 10 >keys
perhaps create -q f.filter keys
for command in 'check f.filter keys' 'check -c f.filter keys' 'info f.filter' 'info --json f.filter' \
    'size -n 5 -p 0.1' 'verify f.filter' 'calibrate f.filter --present keys --absent absent' '--help' '--version'; do
    seq 11 20 >absent
    for where in '&-' /dev/full; do
        echo "perhaps $command >$where"
        eval "perhaps $command >$where"
        echo "[$?]"
    done
done 2>&1
# What prints nothing does not mind.
perhaps check -q f.filter keys >&- && echo quiet
perhaps add f.filter keys 2>/dev/null >&- && echo add
# Nor does a closed standard input or error of a command that uses neither.
perhaps verify f.filter <&- 2>&- && echo verify
perhaps check f.filter <&-
echo "[$?]"
perhaps create -q -n 10 g.filter keys >&- 2>&- <&-
cmp f.filter g.filter && echo create
# The lock, the first file that is opened, must not become the standard input that is missing.
refuse perhaps add f.filter <&-
refuse perhaps create -f f.filter <&-
