# A file of keys that cannot be read does not keep the others from being read, but shows in the exit status.
seq 10 >keys
seq 100 105 >none
perhaps create -q -p 1e-6 f.filter keys
show perhaps check f.filter missing keys
show perhaps check f.filter . none
show perhaps check -c f.filter keys missing
show perhaps check -cH f.filter missing keys
show perhaps check -q f.filter missing keys
show perhaps check -q f.filter keys missing
show perhaps check -q f.filter none missing
show perhaps check --json f.filter missing none
show perhaps check missing.filter keys
show perhaps check - keys
show perhaps check keys keys
