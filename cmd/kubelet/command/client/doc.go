// Package client holds the verbs of the command line for the day: what people do with the pods of a node.
//
//	get, describe, events    show what there is
//	apply, delete, restart   change pods and objects
//	plan, diff               show what apply would change
//	wait                     waits for pods
//	logs                     prints what containers write
//	exec, attach             connect with processes of containers
//	port-forward, cp         lead to ports, and copy files
//	top, timeline            show figures, and the steps of a pod
//	completion               prints scripts for shells
//	context                  keeps names of nodes and how to reach them
//
// All of them are clients of the node's public API over gRPC and use nothing else of the node, so they work on another
// machine too. A Verb is a line of the table: its name, its words, an example, and a function that binds its flags and
// returns what to run. Run parses, connects, and turns errors into words and exit codes:
//
//	0  it is done
//	1  it has failed
//	2  the command line is wrong
//
// exec ends with the code of its command. plan and diff have a code of their own if that is asked for.
//
// Texts of tables come from manifests, containers and registries. They reach a terminal without control characters.
//
// Start reading at Run in verb.go; get.go is a whole verb.
package client
