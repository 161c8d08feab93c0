echo 1 >keys
sqlite3 s.db "CREATE TABLE t (k TEXT, nocase TEXT COLLATE NOCASE, rtrim TEXT COLLATE RTRIM, i INTEGER, r REAL,
    n NUMERIC, id INTEGER PRIMARY KEY); INSERT INTO t(k, i) VALUES ('1', 1)"
perhaps create -q f.filter keys
for column in nocase rtrim i r n id rowid missing ''; do
    refuse perhaps guard f.filter --store sqlite:s.db --table t --column "$column" keys
done
refuse perhaps guard f.filter --store sqlite:s.db --table missing --column k keys
refuse perhaps guard f.filter --store sqlite:missing.db --table t --column k keys
refuse perhaps guard f.filter --store sqlite:keys --table t --column k keys
refuse perhaps guard f.filter --store sqlite:. --table t --column k keys
: >empty.db
refuse perhaps guard f.filter --store sqlite:empty.db --table t --column k keys
refuse perhaps guard f.filter --store sqlite: --table t --column k keys
refuse perhaps guard f.filter --store s.db --table t --column k keys
refuse perhaps guard f.filter --table t --column k keys
refuse perhaps guard f.filter --store sqlite:s.db --column k keys
refuse perhaps guard f.filter --store sqlite:s.db --table t keys
refuse perhaps guard --store sqlite:s.db --table t --column k
refuse perhaps guard f.filter --store sqlite:s.db --query 'SELECT k FROM t WHERE k = ?1' --table t keys
refuse perhaps guard f.filter --store sqlite:s.db --query 'SELECT k FROM t WHERE k = ?1' --schema main keys
refuse perhaps guard f.filter --store sqlite:s.db --table t --column k --schema main keys
refuse perhaps guard f.filter --store sqlite:s.db --table t --column k --canonical upper keys
refuse perhaps guard f.filter --store sqlite:s.db --table t --column i --canonical lower keys
refuse perhaps guard f.filter --store sqlite:s.db --query 'SELECT k FROM t' keys
refuse perhaps guard f.filter --store sqlite:s.db --query 'SELECT k FORM t WHERE k = ?1' keys
refuse perhaps guard f.filter --store sqlite:s.db --query 'SELECT i FROM t WHERE i = ?1' keys
refuse perhaps guard f.filter --store sqlite:s.db --query 'DELETE FROM t WHERE k = ?1 RETURNING k' keys
show perhaps guard f.filter --store sqlite:s.db --table t --column k --report no/such.json keys
show perhaps guard f.filter --store sqlite:s.db --table t --column k --report . keys
ls
