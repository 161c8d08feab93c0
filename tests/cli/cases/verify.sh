# What is no filter, or no longer: by every command that opens one.
seq 300000 >keys
perhaps create -q good.filter keys
show perhaps verify good.filter
show perhaps verify -q good.filter
show perhaps verify --json good.filter
: >empty.filter
printf p >byte.filter
head -c 100 good.filter >header.filter
head -c 100000 good.filter >cut.filter
(cat good.filter; echo more) >longer.filter
size=$(stat -c %s good.filter)
flip() { # flip NAME OFFSET: changes one bit
    cp good.filter "$1"
    value=$(od -An -tu1 -j "$2" -N 1 good.filter)
    printf "\\x$(printf %02x $((value ^ 16)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
flip first.filter 0
flip version.filter 8
flip header-bit.filter 40
flip payload.filter 5000
flip last.filter $((size - 1))
mkfifo fifo.filter
mkdir directory.filter
for name in empty byte header cut longer first header-bit payload last fifo directory missing; do
    refuse perhaps verify $name.filter
done
show perhaps verify empty.filter good.filter payload.filter
show perhaps verify --json empty.filter good.filter payload.filter
for name in keys version.filter; do refuse perhaps verify $name; done
for command in info verify 'check -c' 'add -q' 'merge -o x.filter good.filter' \
    'calibrate --present keys --absent keys' 'guard --store sqlite:s.db --table t --column c'; do
    for name in empty payload directory missing; do
        refuse perhaps $command $name.filter </dev/null
    done
done
refuse perhaps verify --json -q good.filter
refuse perhaps verify
refuse perhaps verify -
# All damage, with its bytes; and by first touch, without looking for it.
seq 3000000 >many
perhaps create -q whole.filter many
cp whole.filter holes.filter
for offset in 5000 3000000 3000001; do printf X | dd of=holes.filter bs=1 seek=$offset conv=notrunc status=none; done
show perhaps verify holes.filter
show perhaps verify --json --no-progress holes.filter
refuse perhaps check holes.filter keys
seq 1000 >some
show perhaps check --first-touch -c holes.filter some
show perhaps check --first-touch -c whole.filter some
show perhaps info --first-touch holes.filter
show perhaps info --first-touch --json whole.filter
perhaps create -q --kind counting counted.filter many
printf XXXX | dd of=counted.filter bs=1 seek=2000000 conv=notrunc status=none
show perhaps info --first-touch counted.filter
head -n 3 some >three
show perhaps count --first-touch counted.filter three
