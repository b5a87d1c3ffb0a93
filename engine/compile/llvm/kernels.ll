; What the code of stages calls: a division of numbers in a row; a number in all of a row; a sum of entries by the places
; that a table lists, in their order; a copy of a matrix, factorised, where a flag is 1 if it is singular; rows that are
; exchanged with others, from the first on or from the last; one-letter options for LAPACK and BLAS, which take all by
; addresses, as numbers. Words in capitals are filled in.

define internal void @divide(ptr %row, i64 %count, double %by) {
entry:
  br label %i.loop
i.loop:
  %i = phi i64 [0, %entry], [%i.next, %i.loop]
  %at = getelementptr double, ptr %row, i64 %i
  %x = load double, ptr %at, align 1
  %y = fdiv double %x, %by
  store double %y, ptr %at, align 1
  %i.next = add i64 %i, 1
  %i.more = icmp ult i64 %i.next, %count
  br i1 %i.more, label %i.loop, label %i.done
i.done:
  ret void
}

define internal void @fill(ptr %row, i64 %count, double %with) {
entry:
  br label %i.loop
i.loop:
  %i = phi i64 [0, %entry], [%i.next, %i.loop]
  %at = getelementptr double, ptr %row, i64 %i
  store double %with, ptr %at, align 1
  %i.next = add i64 %i, 1
  %i.more = icmp ult i64 %i.next, %count
  br i1 %i.more, label %i.loop, label %i.done
i.done:
  ret void
}

define internal void @scatter(ptr %in, ptr %places, i64 %count, ptr %out) {
entry:
  br label %i.loop
i.loop:
  %i = phi i64 [0, %entry], [%i.next, %i.loop]
  %p = getelementptr i64, ptr %places, i64 %i
  %place = load i64, ptr %p
  %from = getelementptr double, ptr %in, i64 %i
  %x = load double, ptr %from, align 1
  %to = getelementptr double, ptr %out, i64 %place
  %y = load double, ptr %to, align 1
  %sum = fadd double %y, %x
  store double %sum, ptr %to, align 1
  %i.next = add i64 %i, 1
  %i.more = icmp ult i64 %i.next, %count
  br i1 %i.more, label %i.loop, label %i.done
i.done:
  ret void
}

define internal void @factorise(ptr %dgetrf, ptr %matrix, ptr %lu, ptr %pivots, i32 %rows, ptr %flag) {
  %size = alloca i32
  store i32 %rows, ptr %size
  %info = alloca i32
  store i32 0, ptr %info
  %wide = sext i32 %rows to i64
  %entries = mul i64 %wide, %wide
  %bytes = mul i64 %entries, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %lu, ptr %matrix, i64 %bytes, i1 false)
  call void %dgetrf(ptr %size, ptr %size, ptr %lu, ptr %size, ptr %pivots, ptr %info)
  %code = load i32, ptr %info
  %failed = icmp ne i32 %code, 0
  br i1 %failed, label %fail, label %over
fail:
  store double 1.0, ptr %flag
  br label %over
over:
  ret void
}

define internal void @exchange(ptr %dswap, ptr %length, ptr %pivots, ptr %out, i64 %rows, i64 %columns, i1 %backward) {
entry:
  %last = sub i64 %rows, 1
  br label %n.loop
n.loop:
  %n = phi i64 [0, %entry], [%n.next, %n.loop]
  %m = sub i64 %last, %n
  %row = select i1 %backward, i64 %m, i64 %n
  %at = getelementptr i32, ptr %pivots, i64 %row
  %pivot = load i32, ptr %at
  %wide = sext i32 %pivot to i64
  %other = sub i64 %wide, 1
  %a = mul i64 %row, %columns
  %b = mul i64 %other, %columns
  %p = getelementptr double, ptr %out, i64 %a
  %q = getelementptr double, ptr %out, i64 %b
  call void %dswap(ptr %length, ptr %p, ptr @one.count, ptr %q, ptr @one.count)
  %n.next = add i64 %n, 1
  %n.more = icmp ult i64 %n.next, %rows
  br i1 %n.more, label %n.loop, label %n.done
n.done:
  ret void
}

@L.letter = private constant [1 x i8] c"L"
@U.letter = private constant [1 x i8] c"U"
@N.letter = private constant [1 x i8] c"N"
@T.letter = private constant [1 x i8] c"T"
@R.letter = private constant [1 x i8] c"R"
@one.number = private constant double 1.0
@one.count = private constant i32 1

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare NUMBER @llvm.masked.load.vLANESf64.p0(ptr, i32, <LANES x i1>, NUMBER)
declare void @llvm.masked.store.vLANESf64.p0(NUMBER, ptr, i32, <LANES x i1>)
declare NUMBER @llvm.fma.vLANESf64(NUMBER, NUMBER, NUMBER)

; Loops whose iterations are independent: they become vectors, 1, 2 or 4 side by side, with masks for the last of
; them, or without; but for !3.
!0 = distinct !{}
!1 = distinct !{!1, !5, !6, !7, !8}
!2 = distinct !{!2, !5, !6, !7, !9}
!3 = distinct !{!3, !11}
!4 = distinct !{!4, !5, !6, !7, !10}
!5 = !{!"llvm.loop.parallel_accesses", !0}
!6 = !{!"llvm.loop.vectorize.width", i32 LANES}
!7 = !{!"llvm.loop.vectorize.predicate.enable", i1 true}
!8 = !{!"llvm.loop.interleave.count", i32 1}
!9 = !{!"llvm.loop.interleave.count", i32 2}
!10 = !{!"llvm.loop.interleave.count", i32 4}
!11 = !{!"llvm.loop.vectorize.enable", i1 false}
!21 = distinct !{!21, !5, !6, !8}
!22 = distinct !{!22, !5, !6, !9}
!24 = distinct !{!24, !5, !6, !10}
