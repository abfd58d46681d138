package cri

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"nodal/node"
)

// Reasons of failures beside node.FailedCreateSandbox, as Kubernetes names them. Where it has no name, ours follows the
// pattern.
const (
	reasonInspectSandbox   = "InspectPodSandboxError"
	reasonResizeSandbox    = "ResizePodSandboxError"
	reasonStopSandbox      = "KillPodSandboxError"
	reasonRemoveSandbox    = "RemovePodSandboxError"
	reasonContainerConfig  = "CreateContainerConfigError"
	reasonCreateContainer  = "CreateContainerError"
	reasonStartContainer   = node.RunContainerError
	reasonInspectContainer = "InspectContainerError"
	reasonStopContainer    = "KillContainerError"
	reasonRemoveContainer  = "RemoveContainerError"
)

// answer is a gRPC error that reads as the runtime's own message, without the frame that gRPC puts around it.
type answer struct{ err error }

func (a answer) Error() string { return status.Convert(a.err).Message() }
func (a answer) Unwrap() error { return a.err }

// judge turns the error of a call into a definite failure or an unknown outcome. doing is verb and object: "start
// container web".
func judge(err error, reason, doing string) error {
	err = fmt.Errorf("%s: %w", doing, answer{err})
	if unanswered(err) || underway(err) {
		return fmt.Errorf("%w: %w", err, node.ErrUnknown)
	}
	return &node.Failure{Reason: reason, Err: err}
}

// unanswered reports whether a call ended without an answer from the runtime.
func unanswered(err error) bool {
	switch code(err) {
	case codes.Canceled, codes.DeadlineExceeded, codes.Unavailable:
		return true
	}
	return strings.Contains(err.Error(), "transport is closing")
}

// underway reports whether an earlier call for the same name is still under way, or has succeeded unseen: the name is
// taken, or the container is already being started or removed. containerd has no code of its own for that.
func underway(err error) bool {
	if code(err) == codes.AlreadyExists {
		return true
	}
	for _, text := range []string{
		"failed to reserve", "is reserved for", "already in starting state", "already in removing state",
	} {
		if strings.Contains(err.Error(), text) {
			return true
		}
	}
	return false
}

func missing(err error) bool { return code(err) == codes.NotFound }

func unimplemented(err error) bool { return code(err) == codes.Unimplemented }

// code returns the gRPC code of a wrapped error.
func code(err error) codes.Code {
	var carrier interface{ GRPCStatus() *status.Status }
	if errors.As(err, &carrier) {
		return carrier.GRPCStatus().Code()
	}
	return status.FromContextError(err).Code()
}

// explain adds the kind to the error of a call that changes nothing.
func explain(err error, doing string) error {
	err = fmt.Errorf("%s: %w", doing, answer{err})
	switch code(err) {
	case codes.NotFound:
		return fmt.Errorf("%w: %w", err, node.ErrNotFound)
	case codes.Unavailable, codes.DeadlineExceeded:
		return fmt.Errorf("%w: %w", err, node.ErrUnavailable)
	case codes.Unimplemented:
		return fmt.Errorf("%w: %w", err, node.ErrUnsupported)
	}
	return err
}

// judgeInspect is judge for an inspection: for it, not found is an answer.
func judgeInspect(err error, reason, doing string) error {
	if missing(err) {
		return explain(err, doing)
	}
	return judge(err, reason, doing)
}

func failure(reason string, err error) error { return &node.Failure{Reason: reason, Err: err} }
