// Command gates writes down the feature gates of Kubernetes' kubelet, from the source of the releases that are named:
//
//	go run ./test/gates v1.36.3 v1.37.2 > agent/config/gates.txt
//
// It fetches the modules of a release with go mod download, and reads their declarations without building them: a
// program that imported them would compile half of Kubernetes. A gate counts as the kubelet's own if a package that
// makes the kubelet mentions it. All other gates belong to components that share the list.
//
// Start reading at main in main.go; source.go reads one file.
package main
