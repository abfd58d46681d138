// Package command holds the verbs of the kubelet's command line: what the binary does besides being the agent.
//
//	audit              prints entries of the audit log
//	certificate        lists and revokes client certificates of the node's authority
//	check              lists what this machine lacks for running containers
//	clean              removes a node from this machine
//	fleet              shows the nodes of a fleet
//	install, uninstall install and remove the systemd service of the agent
//	key                shows and rotates the key that seals Secrets
//	token              makes, lists and revokes tokens for callers of the node's API
//	ui                 prints a link to the dashboard
//	unpack-runtime     unpacks containerd in a child process of the agent
//
// Package client holds the verbs of the day, such as get and logs; here are those that look after the node. There is one
// file a verb. The audit, certificate, key, token and ui verbs are clients of a running agent's API. The
// fleet verb is a client of etcd. The check and clean verbs read the agent's own flags, because they are about the agent's node.
//
// Start reading at verbs in command.go.
package command
