umask 077
touch keys
printf '00010203040506070809' > short
printf '000102030405060708090a0b0c0d0e0f0' > long
printf '000102030405060708090a0b0c0d0e0f\n\n' > lines
printf '000102030405060708090a0b0c0d0e0g' > letter
printf 'my secret passphrase is long' > words
head -c 100000 /dev/zero > much
head -c 16 /dev/zero > zeros
touch empty
for file in short long lines letter words much zeros empty . nowhere; do
    refuse perhaps create --key-file "$file" -n 10 x.filter keys
done
refuse perhaps create --key-file
refuse perhaps size --key-file short -n 10
# Others may read it: said, and used all the same.
printf '000102030405060708090a0b0c0d0e0f\n' > key
chmod 644 key
show perhaps create --key-file key -n 10 x.filter keys
chmod 620 key
show perhaps verify --key-file key x.filter
chmod 400 key
show perhaps verify --key-file key x.filter
