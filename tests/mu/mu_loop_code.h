/* SPDX-License-Identifier: BSD-3-Clause */
/* Machine code for mu_loop.c. */
#ifndef TESTS_MU_LOOP_CODE_H
#define TESTS_MU_LOOP_CODE_H

/*
 * A function of 18 words of 8 bytes (rdi): 15 values for registers, two to work on in memory, and
 * one that is not aligned with its neighbour. It has each form of each instruction that
 * mu/vtime/loop_step.c knows.
 */
__asm__(
    ".text\n"
    ".globl code_all, code_all_end\n"
    "code_all:\n"
    "	endbr64\n"
    "	push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n"
    "	mov (%rdi), %rax\n mov 8(%rdi), %rcx\n mov 16(%rdi), %rdx\n mov 24(%rdi), %rbx\n"
    "	mov 32(%rdi), %rbp\n mov 40(%rdi), %rsi\n mov 48(%rdi), %r8\n mov 56(%rdi), %r9\n"
    "	mov 64(%rdi), %r10\n mov 72(%rdi), %r11\n mov 80(%rdi), %r12\n mov 88(%rdi), %r13\n"
    "	mov 96(%rdi), %r14\n mov 104(%rdi), %r15\n"
    /* arithmetic: registers, memory, immediates, in all sizes */
    "	add %rcx, %rax\n add %ecx, %edx\n add %cx, %dx\n add %cl, %dl\n add %ah, %bl\n"
    "	sub %rbx, %r8\n sub %r9d, %r10d\n sub %si, %r11w\n sub %sil, %r12b\n sub %ch, %dh\n"
    "	or %rax, 120(%rdi)\n or %eax, %ebx\n and %rdx, 128(%rdi)\n and %dl, 120(%rdi)\n"
    "	xor 120(%rdi), %r13\n xor %r14w, 122(%rdi)\n add 125(%rdi), %r15\n sub %r15, 125(%rdi)\n"
    "	cmp %rax, %rbx\n setl %al\n cmp %eax, 120(%rdi)\n setbe %r8b\n cmp 120(%rdi), %cl\n seto "
    "%ah\n"
    "	add $7, %rax\n add $-3, %ecx\n sub $0x12345, %rdx\n and $0xff0, %bx\n or $1, %bpl\n xor "
    "$0x7f, %al\n"
    "	add $0x11223344, %eax\n cmp $-1, %rax\n cmp $5, %al\n and $0x0fffffff, %rax\n"
    "	cmpl $3, 120(%rdi)\n cmpq $-7, 128(%rdi)\n cmpb $9, 121(%rdi)\n addw $300, 122(%rdi)\n"
    "	test %rax, %rax\n setp %cl\n test %bl, %dl\n sets %dl\n test $0x40, %al\n testl $0x100, "
    "120(%rdi)\n"
    "	testb $2, 120(%rdi)\n testq $-8, %r13\n setne 120(%rdi)\n"
    "	lock orq $0, 120(%rdi)\n sets %dl\n lock orl $0, 124(%rdi)\n setp %bl\n"
    "	inc %rax\n incl 120(%rdi)\n dec %r9\n decb 121(%rdi)\n neg %rbx\n negl 128(%rdi)\n not "
    "%rcx\n notw 120(%rdi)\n"
    "	shl $3, %rax\n shr $5, %ecx\n sar $7, %rdx\n shl %ebx\n shr %r8\n sarw $2, 120(%rdi)\n sar "
    "%sil\n"
    "	imul %rcx, %rax\n imul $12, %rdx, %r8\n imul $100000, %r9d, %r10d\n imul %bx, %cx\n"
    "	or $3, %rcx\n xor %edx, %edx\n div %rcx\n cltd\n idiv %ecx\n or $1, %dl\n mov %rdx, "
    "120(%rdi)\n"
    "	cqto\n idivq 120(%rdi)\n mov $1, %edx\n mov $-2, %rbx\n div %rbx\n mov $2, %edx\n mov $-9, "
    "%ebx\n"
    "	div %ebx\n"
    "	add %rcx, %rax\n adc %rdx, %rbx\n adcl $0, 120(%rdi)\n adc 124(%rdi), %r8d\n adc $-1, "
    "%r9b\n"
    "	cmp %rdx, %rcx\n sbb %rax, %rax\n sbbq $-1, 128(%rdi)\n sbb %bl, %dl\n sbb $7, %al\n"
    /* atomic operations that store what is there */
    "	xor %ebx, %ebx\n lock xadd %rbx, 120(%rdi)\n setz %cl\n mov 128(%rdi), %rax\n mov %rax, "
    "%rbx\n"
    "	lock cmpxchg %rbx, 128(%rdi)\n sete %dl\n not %eax\n lock cmpxchg %ebx, 128(%rdi)\n"
    "	mov 120(%rdi), %edx\n xchg %edx, 120(%rdi)\n lock addl $0, 120(%rdi)\n"
    "	mov 128(%rdi), %sil\n lock and %sil, 128(%rdi)\n"
    /* vectors of one number */
    "	movsd 120(%rdi), %xmm0\n movss 128(%rdi), %xmm1\n movq %rax, %xmm2\n movd %ecx, %xmm9\n"
    "	pxor %xmm3, %xmm3\n movapd %xmm2, %xmm10\n movss %xmm0, %xmm10\n xorps %xmm0, %xmm2\n"
    "	paddq %xmm9, %xmm2\n por %xmm1, %xmm9\n pand %xmm0, %xmm1\n movq %xmm2, %r8\n"
    "	movd %xmm10, %r9d\n movsd %xmm9, 120(%rdi)\n movss %xmm2, 128(%rdi)\n movq %xmm1, "
    "120(%rdi)\n"
    "	movdqu 120(%rdi), %xmm4\n movq 128(%rdi), %xmm5\n movq %xmm4, %r10\n movq %xmm5, %r11\n"
    "	mov $0x3ff8000000000000, %rbx\n movq %rbx, %xmm6\n comisd %xmm3, %xmm6\n seta %al\n"
    "	ucomisd %xmm6, %xmm3\n setb %ah\n comisd %xmm6, %xmm6\n sete %bl\n not %rcx\n mov $-1, "
    "%rcx\n"
    "	movq %rcx, %xmm7\n ucomisd %xmm7, %xmm3\n setp %bh\n mov $0x40200000, %ecx\n movd %ecx, "
    "%xmm8\n"
    "	comiss %xmm8, %xmm3\n setae %cl\n"
    "	bt $5, %rax\n setc %bl\n bt %ecx, %edx\n setnc %bh\n"
    /* moves */
    "	mov %ah, %cl\n mov %ch, %ah\n mov %r9b, %sil\n mov $0x12, %dh\n mov $0x1234, %bp\n mov "
    "$-5, %r11\n"
    "	movabs $0x123456789abcdef, %r12\n movl $77, 120(%rdi)\n movb $1, 123(%rdi)\n movw $2, "
    "124(%rdi)\n"
    "	movq $-9, 125(%rdi)\n mov 125(%rdi), %r13\n mov 121(%rdi), %r14w\n mov 127(%rdi), %r15d\n"
    "	movzbl %ah, %eax\n movzwq %bx, %rbx\n movsbl %cl, %ecx\n movsbw %dl, %dx\n movswq "
    "126(%rdi), %rsi\n"
    "	movslq %r8d, %r8\n movslq 124(%rdi), %r9\n movzbl 127(%rdi), %r10d\n cltq\n cwtl\n cbtw\n"
    "	bswap %rax\n bswap %ecx\n bswap %r12\n"
    "	cmp %rdx, %rcx\n cmovg %rax, %rbx\n cmovle %edx, %esi\n cmova 120(%rdi), %r8\n cmovs %r9w, "
    "%r10w\n"
    /* addresses */
    "	mov $2, %r11d\n lea 3(%rax,%rcx,4), %r12\n lea (,%rdx,8), %r13d\n lea code_all(%rip), "
    "%r14\n"
    "	mov 104(%rdi,%r11,8), %r15\n mov (%rdi,%r11,1), %al\n cmpl $0, code_word(%rip)\n"
    "	mov %rdi, %r13\n mov (%r13), %rax\n mov %rsp, %r12\n mov (%r12), %rax\n mov %fs:0, %rax\n"
    "	mov %fs:40, %rcx\n lea -16(%r12,%r11,8), %rbp\n"
    /* jumps and calls */
    "	cmp %rdx, %rcx\n jl 1f\n inc %rax\n1: jae 2f\n inc %rbx\n2: jp 3f\n inc %rcx\n3: jno 4f\n "
    "inc %rdx\n4:\n"
    "	.byte 0x0f, 0x84, 0, 0, 0, 0\n .byte 0x0f, 0x85, 0, 0, 0, 0\n jmp 5f\n ud2\n5: .byte 0xe9, "
    "0, 0, 0, 0\n"
    "	call code_inner\n lea code_inner(%rip), %rax\n call *%rax\n lea 6f(%rip), %rax\n jmp "
    "*%rax\n ud2\n6:\n"
    "	mov %rdi, 112(%rdi)\n"
    /* what only passes */
    "	nop\n pause\n nopw 0(%rax,%rax,1)\n lfence\n mfence\n sfence\n prefetcht0 (%rdi)\n"
    "	pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n"
    "code_all_end:\n"
    "	ret\n"
    "code_inner:\n"
    "	push %rbp\n mov %rsp, %rbp\n push %rax\n mov %rdi, -16(%rbp)\n mov -16(%rbp), %rax\n "
    "leave\n repz ret\n"
    ".section .rodata\n code_word: .long 5\n .text\n");
void code_all(uint64_t words[18]);
extern const char code_all_end[];

/* Loops, with the address of what they wait for in rdi, and ends that are not known. */
__asm__(
    ".text\n"
    "loop_plain: mov (%rdi), %rax\n test %rax, %rax\n jne loop_plain\n ud2\n"
    "loop_compare: cmpl $0, (%rdi)\n pause\n jne loop_compare\n ud2\n"
    "loop_fences: lock orq $0, (%rsp)\n lock orl $0, -8(%rsp)\n mfence\n cmpl $0, (%rdi)\n jne "
    "loop_fences\n ud2\n"
    "loop_yields: mov $24, %eax\n syscall\n cmpl $0, (%rdi)\n jne loop_yields\n ud2\n"
    "loop_stores: mov %rdi, -24(%rsp)\n mov -24(%rsp), %rax\n mov (%rax), %rax\n mov %rax, "
    "-8(%rsp)\n"
    "	cmpq $0, -8(%rsp)\n jne loop_stores\n ud2\n"
    "loop_calls: call loop_reads\n test %eax, %eax\n jne loop_calls\n ud2\n"
    "loop_reads: push %rbp\n mov %rsp, %rbp\n mov (%rdi), %eax\n pop %rbp\n ret\n"
    /* stores beside what it waits for; the address is loaded, too */
    "loop_stores_beside: mov 8(%rdi), %rax\n movl $1, 4(%rax)\n cmpl $0, (%rax)\n jne "
    "loop_stores_beside\n ud2\n"
    /* all of four words are zero: an inner loop that counts */
    "loop_array: xor %ecx, %ecx\n xor %edx, %edx\n"
    "1:	or (%rdi,%rcx,8), %rdx\n inc %rcx\n cmp $4, %rcx\n jne 1b\n"
    "	test %rdx, %rdx\n jne loop_array\n ud2\n"
    /* a store before the loop: until it is made, the thread is not in the loop */
    "loop_after_store: movq $5, 8(%rdi)\n1: cmpq $0, (%rdi)\n jne 1b\n ud2\n"
    "loop_sleeps: xor %esi, %esi\n mov $230, %eax\n syscall\n cmpl $0, (%rdi)\n jne loop_sleeps\n "
    "ud2\n"
    /* the length of a list: a sum of carries */
    "loop_carries: xor %edx, %edx\n xor %ecx, %ecx\n"
    "1:	cmpq $1, (%rdi,%rcx,8)\n sbb $-1, %edx\n inc %ecx\n cmp $4, %ecx\n jne 1b\n"
    "	test %edx, %edx\n jne loop_carries\n ud2\n"
    /* a number that the loop compares with one from before it */
    "loop_number: pxor %xmm1, %xmm1\n1: movsd (%rdi), %xmm0\n movsd %xmm0, -16(%rsp)\n"
    "	ucomisd %xmm1, %xmm0\n jp 1b\n jne 1b\n ud2\n"
    /* atomic loads */
    "loop_adds_zero: xor %eax, %eax\n lock xadd %rax, (%rdi)\n test %rax, %rax\n jne "
    "loop_adds_zero\n ud2\n"
    "loop_swaps_zero: xor %eax, %eax\n xor %ecx, %ecx\n lock cmpxchg %rcx, (%rdi)\n jne "
    "loop_swaps_zero\n ud2\n"
    /* a lock that another thread has: 7, and it stores 7 */
    "loop_takes_lock: mov $7, %eax\n xchg %eax, (%rdi)\n test %eax, %eax\n jne "
    "loop_takes_lock\n ud2\n"
    /* a word that changes to and fro */
    "loop_toggles: xorl $1, -8(%rsp)\n cmpl $0, (%rdi)\n jne loop_toggles\n ud2\n"
    /* these do not only wait */
    "loop_sleeps_until: mov $1, %esi\n mov $230, %eax\n syscall\n cmpl $0, (%rdi)\n jne "
    "loop_sleeps_until\n ud2\n"
    "loop_exchanges: mov $1, %ecx\n xor %eax, %eax\n lock cmpxchg %ecx, -8(%rsp)\n movl $0, "
    "-8(%rsp)\n"
    "	cmpl $0, (%rdi)\n jne loop_exchanges\n ud2\n"
    "loop_adds: mov $1, %eax\n lock xadd %rax, -8(%rsp)\n cmpl $0, (%rdi)\n jne loop_adds\n ud2\n"
    "loop_swaps: mov $3, %eax\n xchg %rax, -8(%rsp)\n cmpl $0, (%rdi)\n jne loop_swaps\n ud2\n"
    "loop_unknown_vector: comisd %xmm0, %xmm1\n jne loop_unknown_vector\n ud2\n"
    "loop_counts: dec %rcx\n je 1f\n cmpl $0, (%rdi)\n jne loop_counts\n1: ud2\n"
    "loop_counts_in_memory: incl -8(%rsp)\n cmpl $0, (%rdi)\n jne loop_counts_in_memory\n ud2\n"
    "loop_times: rdtsc\n cmpl $0, (%rdi)\n jne loop_times\n ud2\n"
    "loop_locks: lock orl $1, -8(%rsp)\n cmpl $0, (%rdi)\n jne loop_locks\n ud2\n"
    "loop_asks: mov $39, %eax\n syscall\n cmpl $0, (%rdi)\n jne loop_asks\n ud2\n"
    "loop_undefined: imul %rax, %rax\n jne loop_undefined\n ud2\n");
extern const char loop_plain[], loop_compare[], loop_yields[], loop_fences[], loop_stores[],
    loop_calls[], loop_array[], loop_stores_beside[], loop_after_store[], loop_toggles[],
    loop_counts[], loop_counts_in_memory[], loop_times[], loop_locks[], loop_asks[],
    loop_undefined[], loop_sleeps[], loop_carries[], loop_number[], loop_adds_zero[],
    loop_swaps_zero[], loop_takes_lock[], loop_adds[], loop_swaps[], loop_unknown_vector[],
    loop_sleeps_until[], loop_exchanges[];

#endif
