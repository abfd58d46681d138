// Package status derives a pod's Kubernetes status from what is desired and
// what was observed. It is pure and nothing is stored: two reads of the same
// facts give the same status, times included, because every time in it is the
// time of a fact. Only a finished pod's status is a fact of its own
// (Slot.Result), since a terminal phase never changes.
//
// Start reading at Of.
package status
