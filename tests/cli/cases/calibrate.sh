seq 20000 >present
seq 20001 80000 >absent
perhaps create -q f.filter present
show perhaps calibrate f.filter --present present --absent absent
show perhaps calibrate --json f.filter --present=present --absent=absent
show perhaps calibrate -q f.filter --present present --absent absent
show perhaps calibrate f.filter --present - --absent absent <present
show perhaps calibrate f.filter --present present --absent - <absent
# Present keys among the absent ones, and repeated ones, count neither as false positives nor twice.
cat absent present absent >mixed
show perhaps calibrate f.filter --present present --absent mixed
show perhaps calibrate --json f.filter --present present --absent mixed
# A key that was never added.
(cat present; printf 'not added\nnor\tthis\n') >more
show perhaps calibrate f.filter --present more --absent absent
show perhaps calibrate -q f.filter --present more --absent absent
show perhaps calibrate --json f.filter --present more --absent absent
tr '\n' '\0' <present >present0
tr '\n' '\0' <absent >absent0
show perhaps calibrate -z f.filter --present present0 --absent absent0
sed 's/$/\r/' present >present.crlf
show perhaps calibrate --crlf f.filter --present present.crlf --absent absent
perhaps create -q -n 5000 crowded.filter present 2>/dev/null
show perhaps calibrate crowded.filter --present present --absent absent
refuse perhaps calibrate f.filter --present present --absent present
refuse perhaps calibrate f.filter --present present --absent /dev/null
refuse perhaps calibrate f.filter --present missing --absent absent
refuse perhaps calibrate f.filter --present present --absent missing
refuse perhaps calibrate f.filter --present present
refuse perhaps calibrate f.filter --absent absent
refuse perhaps calibrate f.filter --present - --absent -
refuse perhaps calibrate f.filter --json -q --present present --absent absent
refuse perhaps calibrate --present present --absent absent
refuse perhaps calibrate f.filter present --present present --absent absent
