package cri

import (
	"context"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func TestWhoIsToldOfCallsLearnsWhichHandlerRunsASandbox(t *testing.T) {
	var told []string
	tell := telling(func(method, handler string, _ time.Duration, _ error) { told = append(told, method+" "+handler) })
	answers := func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return nil }
	for method, request := range map[string]any{
		"RunPodSandbox": &runtimeapi.RunPodSandboxRequest{RuntimeHandler: "kata"}, "StopPodSandbox": &runtimeapi.StopPodSandboxRequest{},
	} {
		if err := tell(t.Context(), "/runtime.v1.RuntimeService/"+method, request, nil, nil, answers); err != nil {
			t.Error(err)
		}
	}
	slices.Sort(told)
	if want := []string{"RunPodSandbox kata", "StopPodSandbox "}; !slices.Equal(told, want) {
		t.Errorf("told of %q, want %q", told, want)
	}
}
