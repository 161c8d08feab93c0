table() { # table DATABASE TYPE: keys 1 to 1000, x and the empty one
    sqlite3 "$1" "CREATE TABLE t (k $2, other); CREATE INDEX i ON t(k);
        WITH RECURSIVE n(v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM n WHERE v < 1000)
        INSERT INTO t(k) SELECT CAST(v AS TEXT) FROM n; INSERT INTO t(k) VALUES ('x'), ('')"
}
table s.db TEXT
sqlite3 s.db 'SELECT k FROM t' | perhaps create -q f.filter
store="--store sqlite:s.db --table t --column k"
(seq 995 1005; seq 2000 9000; echo x; echo) >candidates
show perhaps guard f.filter $store candidates
show perhaps guard f.filter $store <candidates
show perhaps guard -q f.filter $store candidates
seq 2000 3000 | show perhaps guard -q f.filter $store
seq 1 3 | show perhaps guard f.filter $store --quiet
show perhaps guard f.filter $store /dev/null
show perhaps guard -q f.filter $store missing candidates
printf '1\0x\0002\n' | perhaps guard -qz f.filter $store | od -c
printf '1\r\n2' | perhaps guard -q --crlf --line-buffered f.filter $store | od -c
show perhaps guard f.filter $store --report report.json candidates
steady <report.json
python3 -m json.tool <report.json >/dev/null && echo JSON
stat -c %a report.json
chmod 640 report.json
seq 1 3 | show perhaps guard f.filter $store --report=report.json
steady <report.json
stat -c %a report.json
seq 1 3 | show perhaps guard f.filter $store --report=/dev/stderr -q | steady
sqlite3 s.db 'CREATE TABLE u (k TEXT); INSERT INTO u VALUES (1)'
seq 1 3 | show perhaps guard f.filter --store sqlite:s.db --table u --column k
# A filter that holds too much, and one that misses keys of the store: the guard trusts its "absent".
seq 1 20000 >many
perhaps create -q -n 1000 crowded.filter many 2>/dev/null
seq 30000 31000 | show perhaps guard crowded.filter $store
seq 1 3000 >more
perhaps create -q -n 1000 full.filter more 2>/dev/null
seq 30000 31000 | show perhaps guard full.filter $store
seq 30000 31000 | show perhaps guard full.filter $store --report report.json
grep -o '"plan".*' report.json
seq 30000 31000 | show perhaps guard crowded.filter --store sqlite:s.db --query 'SELECT k FROM t WHERE k = ?1' | tail -2
perhaps create -q -n 10 empty.filter
seq 1 3 | show perhaps guard empty.filter $store
