// Package dist tests the files of `make dist`, as a user without anything else would
// use them: binary_test.go and dist_test.go look at the files, bare_test.go
// lets the one binary make a node of a root directory that holds nothing, plain_test.go
// one that was built without a container runtime inside, and systemd_test.go
// installs it for good on a machine that is thrown away afterwards.
package dist
