// Command upstream writes down the reasons of the events of Kubernetes' kubelet, from the source of a release:
//
//	go run ./test/differences/upstream v1.36.3 > test/differences/upstream.txt
//
// It fetches the release with go mod download and reads its files without building them. Reasons that are declared and never
// sent are left out. Refusals of pods are events as well.
//
// Start reading at main in main.go.
package main
