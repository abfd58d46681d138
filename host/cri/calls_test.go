package cri

import (
	"context"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func TestCallThatMakesASandboxIsReportedWithItsHandler(t *testing.T) {
	var told []string
	report := counting(func(method, handler string, _ time.Duration, _ error) { told = append(told, method+" "+handler) })
	answers := func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return nil }
	for method, request := range map[string]any{
		"RunPodSandbox": &runtimeapi.RunPodSandboxRequest{RuntimeHandler: "kata"}, "StopPodSandbox": &runtimeapi.StopPodSandboxRequest{},
	} {
		if err := report(t.Context(), "/runtime.v1.RuntimeService/"+method, request, nil, nil, answers); err != nil {
			t.Error(err)
		}
	}
	slices.Sort(told)
	if want := []string{"RunPodSandbox kata", "StopPodSandbox "}; !slices.Equal(told, want) {
		t.Errorf("told of %q, want %q", told, want)
	}
}

func TestCallsBelowCRIAreNotReported(t *testing.T) {
	reported, made := 0, 0
	report := ofCRI(counting(func(string, string, time.Duration, error) { reported++ }))
	invoke := func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
		made++
		return nil
	}
	for _, method := range []string{"/runtime.v1.ImageService/ListImages", "/containerd.services.tasks.v1.Tasks/Wait"} {
		if err := report(t.Context(), method, nil, nil, nil, invoke); err != nil {
			t.Error(err)
		}
	}
	if reported != 1 || made != 2 {
		t.Errorf("reported %d of %d calls, want 1 of 2", reported, made)
	}
}
