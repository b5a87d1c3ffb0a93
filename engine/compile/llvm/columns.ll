; One block of rows at a time. Dense columns are read and written as they are, and a number that is the same in each row
; is read once for all lanes; strided columns, and the rows of a last block that is not full, go one by one through
; %room, so that nothing outside the rows is touched.
; Words in capitals are filled in.

define internal NUMBER @take(ptr %column, i64 %stride, i64 %row, i64 %left, ptr %room) alwaysinline {
  %offset = mul i64 %row, %stride
  %at = getelementptr i8, ptr %column, i64 %offset
  %dense = icmp eq i64 %stride, 8
  %full = icmp sge i64 %left, LANES
  %direct = and i1 %dense, %full
  br i1 %direct, label %whole, label %other
whole:
  %block = load NUMBER, ptr %at, align 1
  ret NUMBER %block
other:
  %same = icmp eq i64 %stride, 0
  br i1 %same, label %one, label %some
one:
  %x = load double, ptr %column, align 1
  %lane = insertelement NUMBER poison, double %x, i32 0
  %lanes = shufflevector NUMBER %lane, NUMBER poison, <LANES x i32> zeroinitializer
  ret NUMBER %lanes
some:
  %rows = select i1 %full, i64 LANES, i64 %left
  call void @copy(ptr %at, i64 %stride, i64 %rows, ptr %room)
  %gathered = load NUMBER, ptr %room, align 64
  ret NUMBER %gathered
}

define internal void @put(ptr %column, i64 %row, i64 %left, NUMBER %block, ptr %room) alwaysinline {
  %at = getelementptr double, ptr %column, i64 %row
  %full = icmp sge i64 %left, LANES
  br i1 %full, label %whole, label %some
whole:
  store NUMBER %block, ptr %at, align 8
  ret void
some:
  store NUMBER %block, ptr %room, align 64
  call void @copy(ptr %room, i64 8, i64 %left, ptr %at)
  ret void
}

define internal void @copy(ptr %from, i64 %stride, i64 %rows, ptr %to) noinline {
  br label %next
next:
  %row = phi i64 [0, %0], [%following, %next]
  %offset = mul i64 %row, %stride
  %source = getelementptr i8, ptr %from, i64 %offset
  %x = load double, ptr %source, align 1
  %place = getelementptr double, ptr %to, i64 %row
  store double %x, ptr %place, align 8
  %following = add i64 %row, 1
  %more = icmp slt i64 %following, %rows
  br i1 %more, label %next, label %done
done:
  ret void
}

define void @rows(ptr %columns, ptr %strides, ptr %outs, i64 %first, i64 %end) ATTRIBUTES {
entry:
  %room = alloca [LANES x double], align 64
  store NUMBER zeroinitializer, ptr %room, align 64
OPENING
BLOCKS
  ret void
}
