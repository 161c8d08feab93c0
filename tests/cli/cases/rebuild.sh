# From keys, and from a store: kind, rate, shape and metadata stay unless options say otherwise.
seq 1 1000 | perhaps create -q -p 0.001 --kind cuckoo --metadata mine f.filter
seq 1 100 >few
show perhaps rebuild f.filter few
show perhaps info f.filter
show perhaps rebuild -n 5000 -p 0.01 --kind bloom f.filter few
show perhaps check -c f.filter few
seq 1 10 | show perhaps rebuild --per-day 10 --days 20 f.filter
seq 1 3 | show perhaps rebuild -q f.filter
seq 1 4 | show perhaps rebuild -n 20 f.filter
sqlite3 s.db "CREATE TABLE t (k TEXT); CREATE INDEX i ON t(k);
    WITH RECURSIVE n(v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM n WHERE v < 800) INSERT INTO t SELECT CAST(v AS TEXT) FROM n"
store="--store sqlite:s.db --table t --column k"
show perhaps rebuild f.filter $store
show perhaps rebuild -q -n 2000 --kind counting f.filter $store
seq 1 900 | show perhaps check -c f.filter
show perhaps info f.filter
cp f.filter small.filter
show perhaps rebuild -n 5 --kind bloom small.filter $store
rm small.filter
refuse perhaps rebuild f.filter $store few
refuse perhaps rebuild missing.filter few
refuse perhaps rebuild -n 0 f.filter few
refuse perhaps rebuild f.filter --store sqlite:s.db
refuse perhaps rebuild f.filter missing
refuse perhaps rebuild f.filter --store sqlite:missing.db --table t --column k
seq 1 900 | show perhaps check -c f.filter
# What its owner fixed stays: growth and its limits, policy, shape, what happens at capacity.
fixed() { # the lines of info that say so
    perhaps info "$1" | grep -E '^(kind|capacity|at capacity|grows|limit|policy|buckets|fingerprints|counters|layers|FPR target)'
}
seq 1 500 | perhaps create -q -n 100 --max-capacity 1000 --max-bytes 64KiB --growth 4 g.filter -
perhaps info --json g.filter | grep -o '"growth".*"max_bytes":[0-9]*'
seq 1 500 | show perhaps rebuild g.filter
perhaps info --json g.filter | grep -o '"growth".*"max_bytes":[0-9]*'
seq 1 950 | show perhaps rebuild -q g.filter
fixed g.filter
seq 1 2000 | refuse perhaps rebuild g.filter
seq 1 500 | refuse perhaps rebuild -n 2000 g.filter
seq 1 500 | refuse perhaps rebuild -n 900 --max-bytes 100 g.filter
seq 1 2000 | show perhaps rebuild --max-capacity 5000 g.filter
show perhaps rebuild --max-capacity 1000 g.filter $store
show perhaps rebuild --max-capacity 700 g.filter $store
show perhaps rebuild --max-bytes 100 g.filter $store
perhaps info --json g.filter | grep -o '"growth".*"max_bytes":[0-9]*'
seq 1 100 | perhaps create -q --kind cuckoo --slots 2 --fingerprint-bits 16 --at-capacity refuse c.filter
seq 1 300 | show perhaps rebuild c.filter
fixed c.filter
seq 1 300 | show perhaps rebuild -p 1e-5 c.filter
refuse perhaps rebuild --max-capacity 1000 c.filter few
seq 1 100 | perhaps create -q --kind counting --counter-bits 16 --policy conservative w.filter
seq 1 300 | perhaps rebuild -q w.filter
fixed w.filter
