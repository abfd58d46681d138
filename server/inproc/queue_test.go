package inproc

import (
	"bytes"
	"context"
	"io"
	"testing"
	"testing/synctest"

	testpb "google.golang.org/grpc/interop/grpc_testing"
)

func TestLargeMessagesWaitForASlowReceiverOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent, arrived := 0, []byte{}
		client := hook(hooked{duplex: func(s testpb.TestService_FullDuplexCallServer) error {
			for i := range byte(depth) {
				body := bytes.Repeat([]byte{i}, 2*window)
				if err := s.Send(&testpb.StreamingOutputCallResponse{Payload: &testpb.Payload{Body: body}}); err != nil {
					return err
				}
				sent++
			}
			return nil
		}})
		s, err := client.FullDuplexCall(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for {
			synctest.Wait()
			if want := min(len(arrived)+1, depth); sent != want {
				t.Errorf("after %d messages that arrived, %d are sent, want %d", len(arrived), sent, want)
			}
			message, err := s.Recv()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			body := message.GetPayload().GetBody()
			if len(body) != 2*window {
				t.Fatalf("got %d bytes, want %d", len(body), 2*window)
			}
			arrived = append(arrived, body[0])
		}
		if len(arrived) != depth || arrived[0] != 0 || arrived[depth-1] != depth-1 {
			t.Errorf("got messages %v, want all in order", arrived)
		}
	})
}

func TestASenderThatWaitsForRoomEndsWithTheCall(t *testing.T) {
	large := &testpb.StreamingOutputCallRequest{Payload: &testpb.Payload{Body: make([]byte, 2*window)}}
	t.Run("when the handler returns", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			leave := make(chan struct{})
			client := hook(hooked{duplex: func(testpb.TestService_FullDuplexCallServer) error { <-leave; return nil }})
			s, err := client.FullDuplexCall(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Send(large); err != nil {
				t.Fatal(err)
			}
			second := make(chan error, 1)
			go func() { second <- s.Send(large) }()
			synctest.Wait()
			close(leave)
			if err := <-second; err != io.EOF {
				t.Errorf("got %v, want io.EOF", err)
			}
		})
	})
	t.Run("when the client hangs up", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			sends := make(chan error, 2)
			client := hook(hooked{duplex: func(s testpb.TestService_FullDuplexCallServer) error {
				for range 2 {
					sends <- s.Send(&testpb.StreamingOutputCallResponse{Payload: large.GetPayload()})
				}
				return nil
			}})
			ctx, cancel := context.WithCancel(t.Context())
			if _, err := client.FullDuplexCall(ctx); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			cancel()
			if first, second := <-sends, <-sends; first != nil || second == nil {
				t.Errorf("got %v and %v, want nil and an error", first, second)
			}
		})
	})
}
