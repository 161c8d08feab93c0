# guard --audit: every key is put to the store, and a filter that misses one of its keys is found out.
sqlite3 s.db 'CREATE TABLE t (k TEXT); CREATE INDEX i ON t(k);
    WITH RECURSIVE n(v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM n WHERE v < 1000)
    INSERT INTO t SELECT CAST(v AS TEXT) FROM n'
sqlite3 s.db 'SELECT k FROM t' | perhaps create -q f.filter
store="--store sqlite:s.db --table t --column k"
(seq 998 1005; seq 2000 9000) >candidates
show perhaps guard --audit f.filter $store candidates
show perhaps guard --audit f.filter $store candidates --report report.json
grep -o '"queries".*"missed":[0-9]*' report.json
show perhaps guard f.filter $store candidates --report report.json
grep -c '"audited"' report.json
seq 5000 6000 | show perhaps guard --audit -q f.filter $store

# The filter was made before this key came into the store: without the audit nobody notices.
sqlite3 s.db "INSERT INTO t VALUES ('new')"
printf 'new\0none\0001\0' >late
show perhaps guard -qz f.filter $store late | tr '\0' '\n'
show perhaps guard -qz --audit f.filter $store late --report report.json | tr '\0' '\n'
grep -o '"surely_absent":.*"missed":[0-9]*' report.json
show perhaps guard -z --audit f.filter $store late | tr '\0' '\n'

# A store that is damaged where only look-ups see it: no report, with an audit or without.
rm report.json
dd if=/dev/zero of=s.db bs=4096 seek=2 count=1 conv=notrunc status=none
refuse perhaps guard f.filter $store candidates --report report.json
seq 5000 5001 >absent
refuse perhaps guard --audit f.filter $store absent --report report.json
