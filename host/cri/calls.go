package cri

import (
	"context"
	"path"
	"strings"
	"time"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// criPrefix begins the methods of CRI. The connection carries calls of containerd's own services too, which are
// neither counted nor traced.
const criPrefix = "/runtime.v1."

func interceptors(c Config) []grpc.UnaryClientInterceptor {
	var chain []grpc.UnaryClientInterceptor
	if c.Called != nil {
		chain = append(chain, ofCRI(counting(c.Called)))
	}
	if c.Trace != nil {
		chain = append(chain, ofCRI(tracing(c.Trace)))
	}
	return chain
}

// ofCRI applies an interceptor to CRI's calls only.
func ofCRI(intercept grpc.UnaryClientInterceptor) grpc.UnaryClientInterceptor {
	return func(
		ctx context.Context, method string, request, reply any,
		conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
	) error {
		if !strings.HasPrefix(method, criPrefix) {
			return invoke(ctx, method, request, reply, conn, opts...)
		}
		return intercept(ctx, method, request, reply, conn, invoke, opts...)
	}
}

// tracing reports the begin and the end of each call.
func tracing(trace func(context.Context, string) (context.Context, func(error))) grpc.UnaryClientInterceptor {
	return func(
		ctx context.Context, method string, request, reply any,
		conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
	) error {
		ctx, end := trace(ctx, method)
		err := invoke(ctx, method, request, reply, conn, opts...)
		end(err)
		return err
	}
}

// counting reports each call that has ended.
func counting(called func(method, handler string, took time.Duration, err error)) grpc.UnaryClientInterceptor {
	return func(
		ctx context.Context, method string, request, reply any,
		conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
	) error {
		begin := time.Now()
		err := invoke(ctx, method, request, reply, conn, opts...)
		sandbox, _ := request.(*runtimeapi.RunPodSandboxRequest)
		called(path.Base(method), sandbox.GetRuntimeHandler(), time.Since(begin), err)
		return err
	}
}
