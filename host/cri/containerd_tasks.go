package cri

import (
	"context"
	"fmt"
	"regexp"
	"syscall"

	"google.golang.org/protobuf/encoding/protowire"
)

// A start whose caller vanishes at the wrong moment has containerd forget a task that
// it has made (containerd/containerd#11037). To CRI the container failed to start;
// neither it nor its sandbox can be removed ever after, whoever asks. The service below
// CRI knows the task and ends it.
const (
	containerdTasks = "/containerd.services.tasks.v1.Tasks/"

	taskContainer  = 1 // field of every request
	taskKillSignal = 3
	taskKillAll    = 4
)

var forgottenTask = regexp.MustCompile(`cannot delete running task ([0-9A-Za-z_.-]+)`)

// remove makes a call that removes something, and ends the forgotten tasks that are in
// its way.
func (r *Runtime) remove(ctx context.Context, call func() error) error {
	for before := ""; ; {
		err := call()
		if err == nil {
			return nil
		}
		found := forgottenTask.FindStringSubmatch(err.Error())
		if found == nil || found[1] == before {
			return err
		}
		before = found[1]
		if failed := r.endTask(ctx, before); failed != nil {
			return fmt.Errorf("%w; containerd has forgotten this task, and ending it failed: %w", err, failed)
		}
		r.log.Info("ended a task that containerd had forgotten", "id", before)
	}
}

// endTask kills what runs as a task, if anything does, and has containerd drop it.
func (r *Runtime) endTask(ctx context.Context, id string) error {
	task := protowire.AppendString(protowire.AppendTag(nil, taskContainer, protowire.BytesType), id)
	kill := protowire.AppendVarint(protowire.AppendTag(task[:len(task):len(task)], taskKillSignal, protowire.VarintType), uint64(syscall.SIGKILL))
	kill = protowire.AppendVarint(protowire.AppendTag(kill, taskKillAll, protowire.VarintType), 1)
	for _, step := range []struct {
		method  string
		request []byte
	}{{"Kill", kill}, {"Wait", task}, {"Delete", task}} {
		stream, err := callContainerd(ctx, r.conn, containerdTasks+step.method, step.request)
		if err == nil {
			_, err = receive(stream)
		}
		if err != nil && !missing(err) { // what is not there needs no end
			return err
		}
	}
	return nil
}
