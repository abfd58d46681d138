package inproc

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
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

// moveMessage makes into equal to from, a copy of which nothing else knows.
func moveMessage(into any, from proto.Message) error {
	dst, ok := into.(proto.Message)
	if !ok || dst.ProtoReflect().Type() != from.ProtoReflect().Type() {
		return copyMessage(into, from)
	}
	proto.Reset(dst)
	filled := dst.ProtoReflect()
	from.ProtoReflect().Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		filled.Set(field, value)
		return true
	})
	filled.SetUnknown(from.ProtoReflect().GetUnknown())
	return nil
}

func asMessage(m any) (proto.Message, error) {
	message, ok := m.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is not a protobuf message", m)
	}
	return message, nil
}
