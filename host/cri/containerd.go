package cri

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/emptypb"
)

// What CRI does not tell, containerd tells by services of its own on the same
// socket. Their messages are read with protowire: the few fields that count do not
// warrant containerd's API as a dependency.

// containerdNamespace is where containerd's CRI keeps everything.
const containerdNamespace = "k8s.io"

// callContainerd calls a method whose answer is one message or a stream of them:
// to the wire that is the same.
func callContainerd(ctx context.Context, conn grpc.ClientConnInterface, method string, request []byte) (grpc.ClientStream, error) {
	ctx = metadata.AppendToOutgoingContext(ctx, "containerd-namespace", containerdNamespace)
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, method)
	if err != nil {
		return nil, err
	}
	// In a message without fields every field is an unknown one, and kept.
	var out emptypb.Empty
	out.ProtoReflect().SetUnknown(request)
	if err := stream.SendMsg(&out); err != nil {
		return nil, err
	}
	return stream, stream.CloseSend()
}

func receive(stream grpc.ClientStream) (message, error) {
	var in emptypb.Empty
	if err := stream.RecvMsg(&in); err != nil {
		return nil, err
	}
	return parseMessage(in.ProtoReflect().GetUnknown())
}

// message is what a message of containerd holds: by field, each time it is there.
type message map[protowire.Number][]value

type value struct {
	bytes  []byte // a text, or a message
	number uint64
}

var errMalformed = errors.New("malformed message of containerd")

func parseMessage(data []byte) (message, error) {
	m := message{}
	for len(data) > 0 {
		field, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return nil, fmt.Errorf("%w: %w", errMalformed, protowire.ParseError(n))
		}
		data = data[n:]
		if n = protowire.ConsumeFieldValue(field, kind, data); n < 0 {
			return nil, fmt.Errorf("%w: %w", errMalformed, protowire.ParseError(n))
		}
		switch kind {
		case protowire.BytesType:
			bytes, _ := protowire.ConsumeBytes(data)
			m[field] = append(m[field], value{bytes: bytes})
		case protowire.VarintType:
			number, _ := protowire.ConsumeVarint(data)
			m[field] = append(m[field], value{number: number})
		}
		data = data[n:]
	}
	return m, nil
}

// last is a field that is there once or not at all.
func (m message) last(field protowire.Number) value {
	if values := m[field]; len(values) > 0 {
		return values[len(values)-1]
	}
	return value{}
}

func (m message) text(field protowire.Number) string  { return string(m.last(field).bytes) }
func (m message) number(field protowire.Number) int64 { return int64(m.last(field).number) }

func (m message) message(field protowire.Number) (message, error) {
	return parseMessage(m.last(field).bytes)
}

// messages are those of a field that repeats.
func (m message) messages(field protowire.Number) iter.Seq2[message, error] {
	return func(yield func(message, error) bool) {
		for _, v := range m[field] {
			if !yield(parseMessage(v.bytes)) {
				return
			}
		}
	}
}
