show perhaps --help
show perhaps -h
show perhaps --version
show perhaps -V
show perhaps help
for command in create add check remove count info size merge convert verify calibrate guard; do
    show perhaps $command -h
    show perhaps $command --help
done
show perhaps help size
show perhaps create -n nonsense --help
# No line of the help is too wide.
(perhaps --help; for command in create add check remove count info size merge convert verify calibrate guard; do
    perhaps $command --help
done) | awk 'length > 80'
