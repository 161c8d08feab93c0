# A filter with a journal is made anew, and keeps its journal: from keys, from a store, and by the guard that watches one.
seq 1000 | perhaps create -q --metadata mine --journal f.filter
echo more | perhaps add -q f.filter
seq 3000 | show perhaps rebuild f.filter
show perhaps info f.filter
seq 3001 | show perhaps check -c f.filter
echo 3001 | show perhaps add f.filter
show perhaps verify f.filter
sqlite3 s.db "CREATE TABLE t (k TEXT); CREATE INDEX i ON t(k);
    WITH RECURSIVE n(v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM n WHERE v < 800) INSERT INTO t SELECT CAST(v AS TEXT) FROM n"
store="--store sqlite:s.db --table t --column k"
perhaps guard -q --install-log $store
show perhaps rebuild --kind cuckoo f.filter $store
perhaps info --json f.filter | grep -o '"journal":{[^}]*}'
# what changed is appended to the journal; the filter stays as it is
cp f.filter before
sqlite3 s.db "INSERT INTO t VALUES ('900'), ('901'); DELETE FROM t WHERE k = '1'"
seq 895 905 | show perhaps guard --watch f.filter $store
cmp f.filter before && echo the filter is what it was
perhaps info --json f.filter | grep -o '"journal":{[^}]*}'
printf '1\n800\n900\n' | show perhaps check f.filter
seq 895 905 | show perhaps guard --watch -q f.filter $store
# what was removed by hand is no filter to go on from, also when not all keys to remove could be read
show perhaps remove f.filter <(seq 2 10) missing
seq 2 10 | show perhaps check -c f.filter
seq 2 10 | show perhaps guard --watch -q f.filter $store
seq 1000 1003 | show perhaps remove -q f.filter
seq 2 10 | show perhaps guard --watch f.filter $store | sed -n 1,2p
seq 2 10 | show perhaps remove -q f.filter
seq 2 10 | show perhaps guard --watch -q f.filter $store
# what cannot be caught up with is made anew, in the same file
perhaps guard -q --remove-log $store
sqlite3 s.db "INSERT INTO t VALUES ('902')"
seq 895 905 | show perhaps guard --watch -q f.filter $store
perhaps info --json f.filter | grep -o '"journal":{[^}]*}'
refuse perhaps rebuild f.filter missing
refuse perhaps rebuild -n 10 --kind cuckoo f.filter <(seq 100)
show perhaps check -c f.filter <(seq 100)
perhaps create -q --kind cuckoo --at-capacity grow -n 10 --journal g.filter
refuse perhaps compact g.filter
ls
