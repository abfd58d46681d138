// Package dist tests the files of `make dist` as a user has them:
//
//	binary_test.go, dist_test.go   the files themselves
//	bare_test.go                   the binary turns an empty root directory into a node
//	plain_test.go                  so does a binary without a container runtime inside
//	systemd_test.go                the binary is installed permanently, on a throw-away machine
package dist
