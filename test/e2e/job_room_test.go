package e2e

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"nodal/test/agent"
	"nodal/test/claim"
)

// TestAJobWaitsForRoom posts a job that allows no failure to a node that has room for one pod, which another uses.
func TestAJobWaitsForRoom(t *testing.T) {
	claim.Shows(t, "Admission", "a job for whose pods a node has no room waits and does not fail, and runs once there is some")
	n := prepare(t, func(c *agent.Config) { c.Settings["maxPods"] = 1 })
	n.up()
	n.apply(web("first").yaml())
	n.waitRunning("first")
	n.apply(`apiVersion: batch/v1
kind: Job
metadata: {name: late}
spec:
  completions: 2
  parallelism: 2
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: "nodal.test/busybox:1", command: ["true"]}]
`)
	n.eventually("its pods are refused", func() bool {
		return strings.Contains(n.curl("/api/v1/namespaces/default/pods?labelSelector=job-name=late").body, `"OutOfpods"`)
	})
	if s := n.jobStatus("late"); s.Failed != 0 || len(s.Conditions) > 0 {
		t.Errorf("the status on the full node is %+v, want no failure", s)
	}
	n.deletePod("first", "")
	n.eventually("it is complete", func() bool { return n.jobStatus("late").CompletionTime != nil })
	if s := n.jobStatus("late"); s.Succeeded != 2 || s.Failed != 0 {
		t.Errorf("the status is %+v, want two successes and no failure", s)
	}
}

func (n *node) jobStatus(name string) batchv1.JobStatus {
	n.t.Helper()
	job := &batchv1.Job{}
	n.curl("/apis/batch/v1/namespaces/default/jobs/"+name).into(n, job)
	return job.Status
}
