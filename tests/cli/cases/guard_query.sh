sqlite3 s.db "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE, live INT);
    CREATE INDEX i ON users(name); INSERT INTO users VALUES (7, 'Ann', 1), (8, 'Bob', 0), (9, 'Eve', 1)"
# A query: of numbers, as the texts that they are.
sqlite3 s.db 'SELECT CAST(id AS TEXT) FROM users WHERE live' | perhaps create -q ids.filter
query='SELECT CAST(id AS TEXT) FROM users WHERE id = CAST(?1 AS INTEGER) AND live'
seq 1 20 | show perhaps guard ids.filter --store sqlite:s.db --query "$query"
printf '7\n007\n' | show perhaps guard -q --audit ids.filter --store sqlite:s.db --query "$query"
seq 1 20 | show perhaps guard ids.filter --store sqlite:s.db --query "$query" --report report.json
steady <report.json
# A canonical form: the filter is made of it, candidates are brought into it, and printed as they came.
sqlite3 s.db 'SELECT lower(name) FROM users' | perhaps create -q names.filter
printf 'ANN\nann\nbOb\nAn\n\n' | show perhaps guard names.filter --store sqlite:s.db --table users --column name --canonical lower
printf 'eve  \nEVE\n' | show perhaps guard -q --audit names.filter --store sqlite:s.db --table users --column name \
    --canonical lower,rtrim --report report.json
steady <report.json
# A filter that was made of other spellings: an audit finds out.
sqlite3 s.db 'SELECT name FROM users' | perhaps create -q spelt.filter
echo ann | show perhaps guard -q --audit spelt.filter --store sqlite:s.db --table users --column name --canonical lower
