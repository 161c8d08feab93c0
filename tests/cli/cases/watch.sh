# What perhaps guard --watch says, and refuses; the rest is in test_watch.py.
sqlite3 s.db "CREATE TABLE t (k TEXT); CREATE INDEX i ON t(k); CREATE VIEW v AS SELECT k FROM t;
    WITH RECURSIVE n(v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM n WHERE v < 800) INSERT INTO t SELECT CAST(v AS TEXT) FROM n"
store="--store sqlite:s.db --table t --column k"
show perhaps guard --install-log $store
show perhaps guard --install-log $store
refuse perhaps guard --install-log --store sqlite:s.db --table v --column k
refuse perhaps guard --install-log f.filter $store
refuse perhaps guard --install-log --remove-log $store
refuse perhaps guard $store
refuse perhaps guard --stay f.filter $store
refuse perhaps guard --append-only f.filter $store
refuse perhaps guard -p 0.1 f.filter $store
refuse perhaps guard --watch --audit f.filter $store
refuse perhaps guard --watch --interval 0 f.filter $store
refuse perhaps guard --watch --interval x f.filter $store
refuse perhaps guard --watch - $store
refuse perhaps guard --install-log --store sqlite:s.db --query 'SELECT k FROM t WHERE k = ?1'
sqlite3 s.db 'SELECT k FROM t' | perhaps create -q f.filter
show perhaps rebuild f.filter $store
sqlite3 s.db "INSERT INTO t VALUES ('900'), ('900'); DELETE FROM t WHERE k = '900' AND rowid = (SELECT max(rowid) FROM t)"
seq 795 905 | show perhaps guard --watch f.filter $store --report report.json
steady <report.json
show perhaps check -c f.filter <(seq 795 905)
seq 899 901 | show perhaps guard --watch -q f.filter $store
show perhaps guard --remove-log $store
show perhaps guard --remove-log $store
sqlite3 s.db "SELECT name FROM sqlite_master WHERE name LIKE 'perhaps%'"
ls
