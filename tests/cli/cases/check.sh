# check: what is printed, and the exit status.
seq 10 >keys
perhaps create -q -p 1e-6 f.filter keys
seq 8 13 >some
seq 100 105 >none
show perhaps check f.filter some
show perhaps check f.filter <some
show perhaps check f.filter none
show perhaps check f.filter - some <keys
for invert in -v --invert-match; do show perhaps check $invert f.filter some none; done
show perhaps check -v f.filter keys
show perhaps check -c f.filter some none
show perhaps check -c f.filter none
show perhaps check -vc f.filter some none
show perhaps check --count --with-filename f.filter some none - <keys
show perhaps check -q f.filter some
show perhaps check -q f.filter none
show perhaps check --quiet -v f.filter keys
show perhaps check -n f.filter some keys
show perhaps check --line-number -v f.filter some
show perhaps check -H f.filter some - <some
show perhaps check -nH -v f.filter none some
show perhaps check -m 2 f.filter some keys
show perhaps check -m2 -v f.filter some none
show perhaps check --max-count=2 -c f.filter some keys
show perhaps check -m 0 f.filter some
show perhaps check -m 2 -n f.filter keys
show perhaps check --line-buffered f.filter some
show perhaps check --json f.filter some - <none
show perhaps check --json -v f.filter some
show perhaps check f.filter -- some
refuse perhaps check --json -c f.filter some
refuse perhaps check --json -q f.filter some
refuse perhaps check --json -n f.filter some
refuse perhaps check --json -H f.filter some
refuse perhaps check -m x f.filter some
