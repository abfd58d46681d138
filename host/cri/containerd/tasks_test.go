package containerd

import (
	"context"
	"slices"
	"strings"
	"testing"

	tasksapi "github.com/containerd/containerd/api/services/tasks/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

// taskServer answers each call with the error planned for its method.
type taskServer struct {
	tasksapi.UnimplementedTasksServer
	fails map[string]error
	calls []string
}

func (s *taskServer) called(method, container string) error {
	s.calls = append(s.calls, method+" "+container)
	return s.fails[method]
}

func (s *taskServer) Kill(_ context.Context, request *tasksapi.KillRequest) (*emptypb.Empty, error) {
	if request.GetSignal() != 9 || !request.GetAll() {
		return nil, status.Errorf(codes.InvalidArgument, "got %v, want KILL for all processes", request)
	}
	return &emptypb.Empty{}, s.called("Kill", request.GetContainerID())
}

func (s *taskServer) Wait(_ context.Context, request *tasksapi.WaitRequest) (*tasksapi.WaitResponse, error) {
	return &tasksapi.WaitResponse{}, s.called("Wait", request.GetContainerID())
}

func (s *taskServer) Delete(_ context.Context, request *tasksapi.DeleteTaskRequest) (*tasksapi.DeleteResponse, error) {
	return &tasksapi.DeleteResponse{}, s.called("Delete", request.GetContainerID())
}

func TestEndKillsATaskBeforeItIsDeleted(t *testing.T) {
	gone := status.Error(codes.NotFound, "no such task")
	for _, test := range []struct {
		name  string
		fails map[string]error
		want  []string
		err   string
	}{
		{"a task that runs", nil, []string{"Kill c", "Wait c", "Delete c"}, ""},
		{"a task whose process has ended", map[string]error{"Kill": gone}, []string{"Kill c", "Wait c", "Delete c"}, ""},
		{"no task at all", map[string]error{"Kill": gone, "Wait": gone, "Delete": gone},
			[]string{"Kill c", "Wait c", "Delete c"}, ""},
		{"a task that cannot be killed", map[string]error{"Kill": status.Error(codes.Unknown, "the shim is gone")},
			[]string{"Kill c"}, "the shim is gone"},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := &taskServer{fails: test.fails}
			client := serve(t, func(r grpc.ServiceRegistrar) { tasksapi.RegisterTasksServer(r, server) })
			err := client.End(t.Context(), "c")
			if !slices.Equal(server.calls, test.want) {
				t.Errorf("got the calls %q, want %q", server.calls, test.want)
			}
			if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("got %v, want %q", err, test.err)
			}
		})
	}
}
