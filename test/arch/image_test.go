package arch

import (
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	nodev1 "nodal/api/gen/node/v1"
)

// The breaking check compares with the saved image, so the image has to hold the whole API.
func TestSavedImageIsThePresentAPI(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "api", "proto", "node.binpb"))
	if err != nil {
		t.Fatal(err)
	}
	var image descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(data, &image); err != nil {
		t.Fatal(err)
	}
	saved := map[string]*descriptorpb.FileDescriptorProto{}
	for _, file := range image.GetFile() {
		file.ProtoReflect().SetUnknown(nil) // buf adds fields of its own
		saved[file.GetName()] = file
	}
	ours := nodev1.File_node_v1_pods_proto.Package()
	protoregistry.GlobalFiles.RangeFilesByPackage(ours, func(file protoreflect.FileDescriptor) bool {
		if !proto.Equal(saved[file.Path()], protodesc.ToFileDescriptorProto(file)) {
			t.Errorf("api/proto/node.binpb does not hold %s as it is: run make api-image", file.Path())
		}
		return true
	})
}
