// Package intake decides what a delivered manifest means for the slots of the
// node: a new pod, nothing, a change that the running pod takes, or a
// replacement. Every way in ends here, so that a pod posted to the API, dropped
// as a file or served from a URL obeys the same rules. So do objects that pods use.
//
// Start reading at Intake.Apply.
package intake
