// Package cgroups holds pods to their limits with host/cgroup.
//
//	Find    finds the machine's cgroups and compares them with the settings
//	Pods    makes and removes the cgroups of pods, for the reconciler
//	Enter   moves the agent to its cgroup; Gather moves processes that are in none
//	System  finds the cgroups of the node's own programs, for stats
//
// Start reading at Pods in pods.go.
package cgroups
