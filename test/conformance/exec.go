package conformance

import (
	"testing"

	"google.golang.org/grpc/codes"
	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func execAnswers(t *testing.T, p *pod) {
	id := p.startReady(t, p.Programs.Run)
	got, err := p.cri.ExecSync(t.Context(), &runtime.ExecSyncRequest{ContainerId: id, Cmd: p.Programs.Hello, Timeout: 20})
	wantSuccess(t, "exec of a program that prints", err)
	if stdout, stderr := string(got.GetStdout()), string(got.GetStderr()); stdout != "hello\n" || stderr != "oops\n" {
		t.Errorf("output: got %q, %q, want %q, %q", stdout, stderr, "hello\n", "oops\n")
	}
	if got.GetExitCode() != 0 {
		t.Errorf("exit code: got %d, want 0", got.GetExitCode())
	}

	got, err = p.cri.ExecSync(t.Context(), &runtime.ExecSyncRequest{ContainerId: id, Cmd: p.Programs.Exit3})
	wantSuccess(t, "exec of a program that fails", err)
	if got.GetExitCode() != 3 {
		t.Errorf("exit code: got %d, want 3", got.GetExitCode())
	}

	_, err = p.cri.ExecSync(t.Context(), &runtime.ExecSyncRequest{ContainerId: id, Cmd: p.Programs.Missing})
	wantFailure(t, "exec of a missing program", err)
}

func execTimesOut(t *testing.T, p *pod) {
	id := p.startReady(t, p.Programs.Run)
	_, err := p.cri.ExecSync(t.Context(), &runtime.ExecSyncRequest{ContainerId: id, Cmd: p.Programs.IgnoreTerm, Timeout: 1})
	wantCode(t, "exec", err, codes.DeadlineExceeded)
	if got := p.status(t, id).GetState(); got != runtime.ContainerState_CONTAINER_RUNNING {
		t.Errorf("state of the container: got %s, want running", got)
	}
}

func execInExited(t *testing.T, p *pod) {
	id := p.start(t, "main", p.Programs.Exit3)
	p.waitExit(t, id)
	_, err := p.cri.ExecSync(t.Context(), &runtime.ExecSyncRequest{ContainerId: id, Cmd: p.Programs.Hello})
	wantFailure(t, "exec", err)
}
