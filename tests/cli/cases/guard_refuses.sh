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
show perhaps guard f.filter --store sqlite:s.db --table t --column k --report no/such.json keys
show perhaps guard f.filter --store sqlite:s.db --table t --column k --report . keys
ls
