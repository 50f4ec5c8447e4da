; ModuleID = 'program.c'
source_filename = "program.c"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

%struct._IO_FILE = type { i32, i8*, i8*, i8*, i8*, i8*, i8*, i8*, i8*, i8*, i8*, i8*, %struct._IO_marker*, %struct._IO_FILE*, i32, i32, i64, i16, i8, [1 x i8], i8*, i64, %struct._IO_codecvt*, %struct._IO_wide_data*, %struct._IO_FILE*, i8*, i64, i32, [20 x i8] }
%struct._IO_marker = type opaque
%struct._IO_codecvt = type opaque
%struct._IO_wide_data = type opaque
%struct.item = type { [16 x i8], i32, %struct.item* }

@.str = private unnamed_addr constant [2 x i8] c"r\00", align 1
@stdin = external dso_local global %struct._IO_FILE*, align 8
@.str.1 = private unnamed_addr constant [8 x i8] c"%15s %d\00", align 1
@.str.2 = private unnamed_addr constant [7 x i8] c"%s=%d\0A\00", align 1
@.str.3 = private unnamed_addr constant [8 x i8] c"sum %d\0A\00", align 1
@.str.4 = private unnamed_addr constant [2 x i8] c"w\00", align 1
@.str.5 = private unnamed_addr constant [4 x i8] c"%d\0A\00", align 1

; Function Attrs: nounwind uwtable
define dso_local i32 @main(i32 %0, i8** %1) #0 {
  %3 = alloca i32, align 4
  %4 = alloca i32, align 4
  %5 = alloca i8**, align 8
  %6 = alloca %struct.item*, align 8
  %7 = alloca [16 x i8], align 16
  %8 = alloca i32, align 4
  %9 = alloca i32, align 4
  %10 = alloca %struct._IO_FILE*, align 8
  %11 = alloca i32, align 4
  %12 = alloca %struct.item*, align 8
  %13 = alloca %struct._IO_FILE*, align 8
  store i32 0, i32* %3, align 4
  store i32 %0, i32* %4, align 4, !tbaa !1
  store i8** %1, i8*** %5, align 8, !tbaa !5
  %14 = bitcast %struct.item** %6 to i8*
  call void @llvm.lifetime.start.p0i8(i64 8, i8* %14) #4
  store %struct.item* null, %struct.item** %6, align 8, !tbaa !5
  %15 = bitcast [16 x i8]* %7 to i8*
  call void @llvm.lifetime.start.p0i8(i64 16, i8* %15) #4
  %16 = bitcast i32* %8 to i8*
  call void @llvm.lifetime.start.p0i8(i64 4, i8* %16) #4
  %17 = bitcast i32* %9 to i8*
  call void @llvm.lifetime.start.p0i8(i64 4, i8* %17) #4
  store i32 0, i32* %9, align 4, !tbaa !1
  %18 = bitcast %struct._IO_FILE** %10 to i8*
  call void @llvm.lifetime.start.p0i8(i64 8, i8* %18) #4
  %19 = load i32, i32* %4, align 4, !tbaa !1
  %20 = icmp sgt i32 %19, 1
  br i1 %20, label %21, label %26

21:                                               ; preds = %2
  %22 = load i8**, i8*** %5, align 8, !tbaa !5
  %23 = getelementptr inbounds i8*, i8** %22, i64 1
  %24 = load i8*, i8** %23, align 8, !tbaa !5
  %25 = call noalias %struct._IO_FILE* @fopen(i8* %24, i8* getelementptr inbounds ([2 x i8], [2 x i8]* @.str, i64 0, i64 0))
  br label %28

26:                                               ; preds = %2
  %27 = load %struct._IO_FILE*, %struct._IO_FILE** @stdin, align 8, !tbaa !5
  br label %28

28:                                               ; preds = %26, %21
  %29 = phi %struct._IO_FILE* [ %25, %21 ], [ %27, %26 ]
  store %struct._IO_FILE* %29, %struct._IO_FILE** %10, align 8, !tbaa !5
  %30 = load %struct._IO_FILE*, %struct._IO_FILE** %10, align 8, !tbaa !5
  %31 = icmp eq %struct._IO_FILE* %30, null
  br i1 %31, label %32, label %33

32:                                               ; preds = %28
  store i32 2, i32* %3, align 4
  store i32 1, i32* %11, align 4
  br label %87

33:                                               ; preds = %28
  br label %34

34:                                               ; preds = %39, %33
  %35 = load %struct._IO_FILE*, %struct._IO_FILE** %10, align 8, !tbaa !5
  %36 = getelementptr inbounds [16 x i8], [16 x i8]* %7, i64 0, i64 0
  %37 = call i32 (%struct._IO_FILE*, i8*, ...) @__isoc99_fscanf(%struct._IO_FILE* %35, i8* getelementptr inbounds ([8 x i8], [8 x i8]* @.str.1, i64 0, i64 0), i8* %36, i32* %8)
  %38 = icmp eq i32 %37, 2
  br i1 %38, label %39, label %44

39:                                               ; preds = %34
  %40 = load %struct.item*, %struct.item** %6, align 8, !tbaa !5
  %41 = getelementptr inbounds [16 x i8], [16 x i8]* %7, i64 0, i64 0
  %42 = load i32, i32* %8, align 4, !tbaa !1
  %43 = call %struct.item* @add(%struct.item* %40, i8* %41, i32 %42)
  store %struct.item* %43, %struct.item** %6, align 8, !tbaa !5
  br label %34

44:                                               ; preds = %34
  %45 = bitcast %struct.item** %12 to i8*
  call void @llvm.lifetime.start.p0i8(i64 8, i8* %45) #4
  %46 = load %struct.item*, %struct.item** %6, align 8, !tbaa !5
  store %struct.item* %46, %struct.item** %12, align 8, !tbaa !5
  br label %47

47:                                               ; preds = %65, %44
  %48 = load %struct.item*, %struct.item** %12, align 8, !tbaa !5
  %49 = icmp ne %struct.item* %48, null
  br i1 %49, label %52, label %50

50:                                               ; preds = %47
  store i32 4, i32* %11, align 4
  %51 = bitcast %struct.item** %12 to i8*
  call void @llvm.lifetime.end.p0i8(i64 8, i8* %51) #4
  br label %69

52:                                               ; preds = %47
  %53 = load %struct.item*, %struct.item** %12, align 8, !tbaa !5
  %54 = getelementptr inbounds %struct.item, %struct.item* %53, i32 0, i32 0
  %55 = getelementptr inbounds [16 x i8], [16 x i8]* %54, i64 0, i64 0
  %56 = load %struct.item*, %struct.item** %12, align 8, !tbaa !5
  %57 = getelementptr inbounds %struct.item, %struct.item* %56, i32 0, i32 1
  %58 = load i32, i32* %57, align 8, !tbaa !7
  %59 = call i32 (i8*, ...) @printf(i8* getelementptr inbounds ([7 x i8], [7 x i8]* @.str.2, i64 0, i64 0), i8* %55, i32 %58)
  %60 = load %struct.item*, %struct.item** %12, align 8, !tbaa !5
  %61 = getelementptr inbounds %struct.item, %struct.item* %60, i32 0, i32 1
  %62 = load i32, i32* %61, align 8, !tbaa !7
  %63 = load i32, i32* %9, align 4, !tbaa !1
  %64 = add nsw i32 %63, %62
  store i32 %64, i32* %9, align 4, !tbaa !1
  br label %65

65:                                               ; preds = %52
  %66 = load %struct.item*, %struct.item** %12, align 8, !tbaa !5
  %67 = getelementptr inbounds %struct.item, %struct.item* %66, i32 0, i32 2
  %68 = load %struct.item*, %struct.item** %67, align 8, !tbaa !9
  store %struct.item* %68, %struct.item** %12, align 8, !tbaa !5
  br label %47

69:                                               ; preds = %50
  %70 = load i32, i32* %9, align 4, !tbaa !1
  %71 = call i32 (i8*, ...) @printf(i8* getelementptr inbounds ([8 x i8], [8 x i8]* @.str.3, i64 0, i64 0), i32 %70)
  %72 = load i32, i32* %4, align 4, !tbaa !1
  %73 = icmp sgt i32 %72, 2
  br i1 %73, label %74, label %86

74:                                               ; preds = %69
  %75 = bitcast %struct._IO_FILE** %13 to i8*
  call void @llvm.lifetime.start.p0i8(i64 8, i8* %75) #4
  %76 = load i8**, i8*** %5, align 8, !tbaa !5
  %77 = getelementptr inbounds i8*, i8** %76, i64 2
  %78 = load i8*, i8** %77, align 8, !tbaa !5
  %79 = call noalias %struct._IO_FILE* @fopen(i8* %78, i8* getelementptr inbounds ([2 x i8], [2 x i8]* @.str.4, i64 0, i64 0))
  store %struct._IO_FILE* %79, %struct._IO_FILE** %13, align 8, !tbaa !5
  %80 = load %struct._IO_FILE*, %struct._IO_FILE** %13, align 8, !tbaa !5
  %81 = load i32, i32* %9, align 4, !tbaa !1
  %82 = call i32 (%struct._IO_FILE*, i8*, ...) @fprintf(%struct._IO_FILE* %80, i8* getelementptr inbounds ([4 x i8], [4 x i8]* @.str.5, i64 0, i64 0), i32 %81)
  %83 = load %struct._IO_FILE*, %struct._IO_FILE** %13, align 8, !tbaa !5
  %84 = call i32 @fclose(%struct._IO_FILE* %83)
  %85 = bitcast %struct._IO_FILE** %13 to i8*
  call void @llvm.lifetime.end.p0i8(i64 8, i8* %85) #4
  br label %86

86:                                               ; preds = %74, %69
  store i32 0, i32* %3, align 4
  store i32 1, i32* %11, align 4
  br label %87

87:                                               ; preds = %86, %32
  %88 = bitcast %struct._IO_FILE** %10 to i8*
  call void @llvm.lifetime.end.p0i8(i64 8, i8* %88) #4
  %89 = bitcast i32* %9 to i8*
  call void @llvm.lifetime.end.p0i8(i64 4, i8* %89) #4
  %90 = bitcast i32* %8 to i8*
  call void @llvm.lifetime.end.p0i8(i64 4, i8* %90) #4
  %91 = bitcast [16 x i8]* %7 to i8*
  call void @llvm.lifetime.end.p0i8(i64 16, i8* %91) #4
  %92 = bitcast %struct.item** %6 to i8*
  call void @llvm.lifetime.end.p0i8(i64 8, i8* %92) #4
  %93 = load i32, i32* %3, align 4
  ret i32 %93
}

; Function Attrs: argmemonly nounwind willreturn
declare void @llvm.lifetime.start.p0i8(i64 immarg, i8* nocapture) #1

declare dso_local noalias %struct._IO_FILE* @fopen(i8*, i8*) #2

declare dso_local i32 @__isoc99_fscanf(%struct._IO_FILE*, i8*, ...) #2

; Function Attrs: nounwind uwtable
define internal %struct.item* @add(%struct.item* %0, i8* %1, i32 %2) #0 {
  %4 = alloca %struct.item*, align 8
  %5 = alloca i8*, align 8
  %6 = alloca i32, align 4
  %7 = alloca %struct.item*, align 8
  store %struct.item* %0, %struct.item** %4, align 8, !tbaa !5
  store i8* %1, i8** %5, align 8, !tbaa !5
  store i32 %2, i32* %6, align 4, !tbaa !1
  %8 = bitcast %struct.item** %7 to i8*
  call void @llvm.lifetime.start.p0i8(i64 8, i8* %8) #4
  %9 = call noalias i8* @malloc(i64 32) #4
  %10 = bitcast i8* %9 to %struct.item*
  store %struct.item* %10, %struct.item** %7, align 8, !tbaa !5
  %11 = load %struct.item*, %struct.item** %7, align 8, !tbaa !5
  %12 = getelementptr inbounds %struct.item, %struct.item* %11, i32 0, i32 0
  %13 = getelementptr inbounds [16 x i8], [16 x i8]* %12, i64 0, i64 0
  %14 = load i8*, i8** %5, align 8, !tbaa !5
  %15 = call i8* @strncpy(i8* %13, i8* %14, i64 15) #4
  %16 = load %struct.item*, %struct.item** %7, align 8, !tbaa !5
  %17 = getelementptr inbounds %struct.item, %struct.item* %16, i32 0, i32 0
  %18 = getelementptr inbounds [16 x i8], [16 x i8]* %17, i64 0, i64 15
  store i8 0, i8* %18, align 1, !tbaa !10
  %19 = load i32, i32* %6, align 4, !tbaa !1
  %20 = load %struct.item*, %struct.item** %7, align 8, !tbaa !5
  %21 = getelementptr inbounds %struct.item, %struct.item* %20, i32 0, i32 1
  store i32 %19, i32* %21, align 8, !tbaa !7
  %22 = load %struct.item*, %struct.item** %4, align 8, !tbaa !5
  %23 = load %struct.item*, %struct.item** %7, align 8, !tbaa !5
  %24 = getelementptr inbounds %struct.item, %struct.item* %23, i32 0, i32 2
  store %struct.item* %22, %struct.item** %24, align 8, !tbaa !9
  %25 = load %struct.item*, %struct.item** %7, align 8, !tbaa !5
  %26 = bitcast %struct.item** %7 to i8*
  call void @llvm.lifetime.end.p0i8(i64 8, i8* %26) #4
  ret %struct.item* %25
}

declare dso_local i32 @printf(i8*, ...) #2

; Function Attrs: argmemonly nounwind willreturn
declare void @llvm.lifetime.end.p0i8(i64 immarg, i8* nocapture) #1

declare dso_local i32 @fprintf(%struct._IO_FILE*, i8*, ...) #2

declare dso_local i32 @fclose(%struct._IO_FILE*) #2

; Function Attrs: nounwind
declare dso_local noalias i8* @malloc(i64) #3

; Function Attrs: nounwind
declare dso_local i8* @strncpy(i8*, i8*, i64) #3

attributes #0 = { nounwind uwtable "correctly-rounded-divide-sqrt-fp-math"="false" "disable-tail-calls"="false" "frame-pointer"="none" "less-precise-fpmad"="false" "min-legal-vector-width"="0" "no-infs-fp-math"="false" "no-jump-tables"="false" "no-nans-fp-math"="false" "no-signed-zeros-fp-math"="false" "no-trapping-math"="false" "stack-protector-buffer-size"="8" "target-cpu"="x86-64" "target-features"="+cx8,+fxsr,+mmx,+sse,+sse2,+x87" "unsafe-fp-math"="false" "use-soft-float"="false" }
attributes #1 = { argmemonly nounwind willreturn }
attributes #2 = { "correctly-rounded-divide-sqrt-fp-math"="false" "disable-tail-calls"="false" "frame-pointer"="none" "less-precise-fpmad"="false" "no-infs-fp-math"="false" "no-nans-fp-math"="false" "no-signed-zeros-fp-math"="false" "no-trapping-math"="false" "stack-protector-buffer-size"="8" "target-cpu"="x86-64" "target-features"="+cx8,+fxsr,+mmx,+sse,+sse2,+x87" "unsafe-fp-math"="false" "use-soft-float"="false" }
attributes #3 = { nounwind "correctly-rounded-divide-sqrt-fp-math"="false" "disable-tail-calls"="false" "frame-pointer"="none" "less-precise-fpmad"="false" "no-infs-fp-math"="false" "no-nans-fp-math"="false" "no-signed-zeros-fp-math"="false" "no-trapping-math"="false" "stack-protector-buffer-size"="8" "target-cpu"="x86-64" "target-features"="+cx8,+fxsr,+mmx,+sse,+sse2,+x87" "unsafe-fp-math"="false" "use-soft-float"="false" }
attributes #4 = { nounwind }

!llvm.module.flags = !{!0}

!0 = !{i32 1, !"wchar_size", i32 4}
!1 = !{!2, !2, i64 0}
!2 = !{!"int", !3, i64 0}
!3 = !{!"omnipotent char", !4, i64 0}
!4 = !{!"Simple C/C++ TBAA"}
!5 = !{!6, !6, i64 0}
!6 = !{!"any pointer", !3, i64 0}
!7 = !{!8, !2, i64 16}
!8 = !{!"item", !3, i64 0, !2, i64 16, !6, i64 24}
!9 = !{!8, !6, i64 24}
!10 = !{!3, !3, i64 0}
