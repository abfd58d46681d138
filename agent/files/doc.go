// Package files lays out the files of pods on the node's disk, except for their volumes.
//
//	/var/log/pods          logs, by host/logs
//	/var/log/containers    links to them, for log collectors
//	<root>/pods/<uid>      hosts files and termination messages, by host/podfiles
//
// The package puts both adapters together and contributes the node's own files to containers.
//
// Start reading at Files in files.go.
package files
