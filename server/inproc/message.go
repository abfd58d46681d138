package inproc

import (
	"fmt"

	"google.golang.org/protobuf/proto"
)

// copyMessage makes into equal to from without sharing memory.
func copyMessage(into, from any) error {
	dst, ok := into.(proto.Message)
	if !ok {
		return fmt.Errorf("%T is not a protobuf message", into)
	}
	src, ok := from.(proto.Message)
	if !ok {
		return fmt.Errorf("%T is not a protobuf message", from)
	}
	// A client may hold the same message in another Go type, such as a dynamic one.
	if dst.ProtoReflect().Descriptor() != src.ProtoReflect().Descriptor() {
		wire, err := proto.Marshal(src)
		if err != nil {
			return err
		}
		return proto.Unmarshal(wire, dst)
	}
	proto.Reset(dst)
	proto.Merge(dst, src)
	return nil
}

func cloneMessage(m any) (proto.Message, error) {
	message, ok := m.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is not a protobuf message", m)
	}
	return proto.Clone(message), nil
}
